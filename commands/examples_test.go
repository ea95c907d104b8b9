package commands

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Every command line of the examples parses: its command and its flags are there.
func TestExamplesParse(t *testing.T) {
	found := 0
	check(t, filepath.WalkDir("../docs/examples", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for line := range strings.Lines(string(text)) {
			command, _, _ := strings.Cut(line, " >")
			_, command, ok := strings.Cut(command, "weedlc ")
			// A crontab names a user in front of the command, who may be weedlc.
			command = strings.TrimPrefix(strings.TrimSpace(command), "weedlc ")
			if !ok || strings.HasPrefix(line, "#") || filepath.Ext(path) == ".sql" {
				continue
			}
			cmd, args, err := newRoot(newApp(Host{})).Find(strings.Fields(command))
			if err == nil && cmd.HasSubCommands() {
				t.Errorf("%s: %q is no command", path, command)
			}
			if err == nil {
				err = cmd.ParseFlags(args)
			}
			if err == nil {
				err = cmd.ValidateArgs(cmd.Flags().Args())
			}
			if err != nil {
				t.Errorf("%s: %q: %v", path, command, err)
			}
			found++
		}
		return nil
	}))
	if found < 5 {
		t.Errorf("%d command lines were found", found)
	}
}
