package commands

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestProfiles finds both profiles after a command that did well and after one
// that failed.
func TestProfiles(t *testing.T) {
	for _, tc := range []struct {
		name string
		args []string
		code int
	}{
		{"done", []string{"version"}, exitDone},
		{"failed", []string{"rules", "lint", "--file", "no-such-file.xml"}, exitFailed},
	} {
		t.Run(tc.name, func(t *testing.T) {
			dir := t.TempDir()
			cpu, memory := filepath.Join(dir, "cpu"), filepath.Join(dir, "memory")
			var out bytes.Buffer
			host := Host{In: strings.NewReader(""), Out: &out, Err: &out}
			if code := Main(t.Context(), append(tc.args, "--cpuprofile", cpu, "--memprofile", memory), host); code != tc.code {
				t.Errorf("exit %d, want %d: %s", code, tc.code, &out)
			}
			for _, file := range []string{cpu, memory} {
				data, err := os.ReadFile(file)
				if err != nil || !bytes.HasPrefix(data, []byte{0x1f, 0x8b}) {
					t.Errorf("%s is no profile: %d bytes, %v", file, len(data), err)
				}
			}
		})
	}
}

// A profile that cannot be written fails the command, and does not hide what
// the command has to say.
func TestProfileThatCannotBeWritten(t *testing.T) {
	for _, flag := range []string{"--cpuprofile", "--memprofile"} {
		var out, errs bytes.Buffer
		host := Host{In: strings.NewReader(""), Out: &out, Err: &errs}
		code := Main(t.Context(), []string{"version", flag, filepath.Join(t.TempDir(), "none", "file")}, host)
		if code != exitFailed || !strings.Contains(errs.String(), flag) {
			t.Errorf("%s: exit %d, %q", flag, code, errs.String())
		}
		if said := out.Len() > 0; said != (flag == "--memprofile") {
			t.Errorf("%s: standard output is %q", flag, out.String())
		}
	}
}
