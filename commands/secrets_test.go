package commands

import (
	"bytes"
	"context"
	"encoding/pem"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"weedlc/internal/weedtest"
)

// Scenario 59: whatever a command says, with the secrets of a cluster, a queue
// and a push gateway set, none of them is in it. Each command is run, as it is
// and with what makes the most of them go on.
func TestScenario59_SecretsAreInNoOutput(t *testing.T) {
	c := weedtest.New(t, weedtest.Config{TLS: true, SigningKey: "the-signing-key"})
	secrets := []string{"the-signing-key", "a-wrong-key", "the-read-key", "the-push-password", "the-queue-password", "the-pg-password",
		"eyJhbGci"} // how each JSON Web Token begins
	keys, err := filepath.Glob(filepath.Join(c.Dir(), "*.key"))
	check(t, err)
	for _, name := range keys {
		data, err := os.ReadFile(name)
		check(t, err)
		block, _ := pem.Decode(data)
		if block == nil {
			t.Fatalf("%s is no key", name)
		}
		for line := range strings.Lines(string(data)) {
			if line = strings.TrimSpace(line); len(line) > 40 {
				secrets = append(secrets, line)
			}
		}
	}
	if len(keys) == 0 {
		t.Fatalf("no keys in %s", c.Dir())
	}

	cluster := c.Client(t)
	cluster.CreateBucket("logs", weedtest.Plain, oneDay)
	cluster.Put("logs", "old", weedtest.Object{Body: "x", Age: 3 * day})
	t.Chdir(t.TempDir())
	t.Setenv("WEED_JWT_FILER_SIGNING_READ_KEY", "the-read-key")
	t.Setenv("PGPASSWORD", "the-pg-password")
	security, err := os.ReadFile(filepath.Join(c.Dir(), "security.toml"))
	check(t, err)

	queue := "postgres://me@127.0.0.1:1/queue"
	said := func(args ...string) (int, string) {
		ctx, cancel := context.WithTimeout(t.Context(), 15*time.Second)
		defer cancel()
		var out bytes.Buffer
		h := OSHost()
		h.In, h.Out, h.Err, h.InTTY, h.OutTTY, h.ErrTTY = strings.NewReader(""), &out, &out, false, false, false
		h.Env = append(os.Environ(),
			"EDITOR=false", "VISUAL=false",
			"WEEDLC_MASTER="+c.Addr(weedtest.Master).String(),
			"WEEDLC_METRICS_PUSH=http://me:the-push-password@127.0.0.1:1",
			"WEEDLC_QUEUE="+queue, queuePasswordEnv+"=the-queue-password",
			"WEEDLC_WAIT=1m",
		)
		code := Main(ctx, args, h)
		text := out.String()
		for _, secret := range secrets {
			if strings.Contains(text, secret) {
				t.Errorf("weedlc %s says %q:\n%s", strings.Join(args, " "), secret, text)
			}
		}
		return code, text
	}

	check(t, os.WriteFile("security.toml", security, 0o600))
	for _, format := range []string{logText, logJSON} {
		for _, args := range eachCommand(newRoot(newApp(Host{})), nil) {
			said(append(args, "--log-level", "debug", "--log-format", format)...)
		}
	}
	if code, text := said("run", "-v"); code != exitDone || !strings.Contains(text, "the metrics are not pushed") {
		t.Errorf("run: exit %d\n%s", code, text)
	}
	said("walk", "--all-buckets", "-v")
	said("explain-rule", "--bucket", "logs", "--key", "old", "-v")
	said("dry-run", "--pass", "--output", "json", "-v")
	said("cursor", "get", "--shard", "0", "-v")

	// Nor is the one in the queue's address.
	queue = "postgres://me:the-queue-password@127.0.0.1:1/queue"
	said("sweep", "status", "-v")

	check(t, os.WriteFile("security.toml", bytes.Replace(security, []byte("the-signing-key"), []byte("a-wrong-key"), 1), 0o600))
	if code, text := said("run", "-v"); code != exitFailed || !strings.Contains(text, "refuses us") {
		t.Errorf("run with a wrong key: exit %d\n%s", code, text)
	}
	check(t, os.WriteFile("security.toml", append([]byte("torn = \"the-signing-key\n"), security...), 0o600))
	if code, text := said("run", "-v"); code != exitFailed || !strings.Contains(text, "cannot be read") {
		t.Errorf("run with a broken security.toml: exit %d\n%s", code, text)
	}
}

// eachCommand lists the names of the commands.
func eachCommand(cmd *cobra.Command, path []string) [][]string {
	var found [][]string
	for _, c := range cmd.Commands() {
		name := append(slices.Clone(path), c.Name())
		found = append(found, name)
		found = append(found, eachCommand(c, name)...)
	}
	return found
}
