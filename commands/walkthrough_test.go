package commands

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestGeneratedWalkthroughs holds what the guides show of commands to what they
// print. A block that begins with "$ weedlc" or "$ go run ./cmd/weedlc" and needs
// no cluster is a session on a terminal of 132 columns; one that begins with
// "$ cat FILE" is the file. The backup is taken for one of 2026-12-01.
func TestGeneratedWalkthroughs(t *testing.T) {
	backup, err := os.ReadFile("../testdata/backup/small.meta.gz")
	check(t, err)
	here, err := os.Getwd()
	check(t, err)
	for _, guide := range []string{"README.md", "docs/review.md"} {
		t.Run(guide, func(t *testing.T) {
			path := filepath.Join(here, "..", guide)
			text, err := os.ReadFile(path)
			check(t, err)
			t.Chdir(t.TempDir())
			check(t, os.MkdirAll("testdata/backup", 0o755))
			check(t, os.WriteFile("testdata/backup/small.meta.gz", backup, 0o600))
			made := time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)
			check(t, os.Chtimes("testdata/backup/small.meta.gz", made, made))
			got := session(t, string(text))
			if got == string(text) {
				return
			}
			if *update {
				check(t, os.WriteFile(path, []byte(got), 0o644))
				return
			}
			t.Errorf("%s does not show what the commands print; run: make generate\nIt would be:\n%s", guide, got)
		})
	}
}

// TestReadmeBeginsWithADryRun: the first thing that a reader can try needs a
// clone and nothing else.
func TestReadmeBeginsWithADryRun(t *testing.T) {
	readme, err := os.ReadFile("../README.md")
	check(t, err)
	_, after, _ := strings.Cut(string(readme), indented+"$ ")
	first, _, _ := strings.Cut(after, "\n")
	equal(t, "the first example", first, "go run ./cmd/weedlc dry-run --from testdata/backup/small.meta.gz")
}

// indented is how a block is set in a guide.
const indented = "    "

// session runs the commands of a guide and puts in what they print.
func session(t *testing.T, guide string) string {
	t.Helper()
	var out strings.Builder
	lines := strings.SplitAfter(guide, "\n")
	for i := 0; i < len(lines); {
		command, is := strings.CutPrefix(lines[i], indented+"$ ")
		out.WriteString(lines[i])
		i++
		if !is {
			continue
		}
		begin := i
		for i < len(lines) && (strings.HasPrefix(lines[i], indented) || strings.TrimSpace(lines[i]) == "" && continues(lines[i:])) {
			if strings.HasPrefix(lines[i], indented+"$ ") {
				break
			}
			i++
		}
		shown := strings.Join(lines[begin:i], "")
		command = strings.TrimSpace(command)
		file, isFile := strings.CutPrefix(command, "cat ")
		args, isCommand := strings.CutPrefix(strings.Replace(command, "go run ./cmd/weedlc", "weedlc", 1), "weedlc ")
		switch {
		case isFile:
			check(t, os.WriteFile(file, []byte(outdented(shown)), 0o600))
			out.WriteString(shown)
		case isCommand && (strings.Contains(args, "--from testdata/backup/") || strings.Contains(args, "--file ")):
			out.WriteString(indentedText(printed(t, strings.Fields(args))))
		default:
			out.WriteString(shown)
		}
	}
	return out.String()
}

// continues reports whether a block goes on behind its blank lines.
func continues(lines []string) bool {
	for _, line := range lines {
		if strings.TrimSpace(line) != "" {
			return strings.HasPrefix(line, indented)
		}
	}
	return false
}

func outdented(block string) string {
	var b strings.Builder
	for line := range strings.Lines(block) {
		b.WriteString(strings.TrimPrefix(line, indented))
	}
	return b.String()
}

func indentedText(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if strings.TrimSpace(line) != "" {
			b.WriteString(indented)
		}
		b.WriteString(line)
	}
	return b.String()
}

// printed is what a command prints on a terminal. A redirection takes it away.
func printed(t *testing.T, args []string) string {
	t.Helper()
	redirected := false
	if n := len(args); n > 0 && strings.HasPrefix(args[n-1], ">") {
		args, redirected = args[:n-1], true
	}
	var out, errs bytes.Buffer
	host := Host{
		In: strings.NewReader(""), Out: &out, Err: &errs, OutTTY: !redirected, OutWidth: func() int { return 132 },
		Now: func() time.Time { return time.Date(2031, 1, 1, 0, 0, 0, 0, time.UTC) },
	}
	code := Main(context.Background(), args, host)
	if out.Len() == 0 && code != exitDone {
		t.Fatalf("weedlc %s: exit %d\n%s", strings.Join(args, " "), code, &errs)
	}
	if redirected {
		return ""
	}
	return out.String()
}
