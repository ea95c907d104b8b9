package commands

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"weedlc/internal/weedtest"
)

// doctorOf runs doctor on a real cluster until it ends with a code and has said
// something: a master forgets a server, and learns of one, with some delay.
func doctorOf(t *testing.T, h *testHost, code int, want string, more ...string) {
	t.Helper()
	args := append([]string{"doctor", "--check-timeout", "2s"}, more...)
	deadline := time.NewTimer(30 * time.Second)
	defer deadline.Stop()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		start := time.Now()
		got := h.run(args...)
		if took := time.Since(start); took > 9*time.Second {
			t.Errorf("doctor took %s", took)
		}
		if got == code && strings.Contains(h.out.String(), want) {
			return
		}
		select {
		case <-tick.C:
		case <-deadline.C:
			t.Fatalf("doctor: exit %d, want %d and %q in\n%s\nstderr:\n%s", got, code, want, &h.out, &h.err)
		}
	}
}

// Each fault that a process can have, on a real cluster.
func TestDoctorOfBrokenServers(t *testing.T) {
	c := weedtest.New(t, weedtest.Config{Separate: true, SecondFiler: true, SecondGateway: true})
	h := newTestHost(t)
	h.Dial, h.Survey, h.Now = dial, survey, time.Now
	h.Env = append(h.Env, "WEEDLC_MASTER="+c.Addr(weedtest.Master).String())
	address := func(r weedtest.Role) string { return c.Addr(r).String() }
	gateway2 := c.Addr(weedtest.Gateway2).GRPC()

	doctorOf(t, h, exitUndone, "store\t\tfailed\tcompare the filers' stores and folders\t")
	contains(t, h.out.String(), "does not share its store with filer ", address(weedtest.Filer2)+"\tok\tread its configuration\t", gateway2+"\tok\t")

	check(t, c.Kill(weedtest.Filer2))
	doctorOf(t, h, exitDone, "knows 1 filer and 2 S3 gateways")
	equal(t, "unwell", unwell(h), "")

	check(t, c.Freeze(weedtest.Gateway2))
	doctorOf(t, h, exitDone, "gateway\t"+gateway2+"\twarning\tsend a delete of nothing\tdoes not answer: context deadline exceeded; passes go on without it\t")
	check(t, c.Kill(weedtest.Gateway2))
	doctorOf(t, h, exitDone, "knows 1 filer and 1 S3 gateway")

	check(t, c.Freeze(weedtest.Filer))
	doctorOf(t, h, exitUndone, "filer\t"+address(weedtest.Filer)+"\tfailed\tread its configuration\tdoes not answer: ")
	check(t, c.Thaw(weedtest.Filer))
	check(t, c.Kill(weedtest.Gateway))
	doctorOf(t, h, exitUndone, "gateway\t\tfailed\tfind one\tnone is registered at the master\t")

	// The filer comes back with its buckets' folder where none is.
	check(t, c.Kill(weedtest.Filer))
	doctorOf(t, h, exitUndone, "filer\t\tfailed\tfind one\tnone is registered at the master\t")
	file := filepath.Join(c.Dir(), string(weedtest.Filer), "filer.toml")
	conf, err := os.ReadFile(file)
	check(t, err)
	check(t, os.WriteFile(file, append(conf, "[filer.options]\nbuckets_folder = \"/elsewhere\"\n"...), 0o600))
	check(t, c.Launch(weedtest.Filer))
	doctorOf(t, h, exitUndone, "folder\t"+address(weedtest.Filer)+"\tfailed\tlook at the buckets' folder \"/elsewhere\"\tit is not there: ")

	check(t, c.Kill(weedtest.Master))
	doctorOf(t, h, exitUndone, "master\t"+address(weedtest.Master)+"\tfailed\task for filers and gateways\tcannot be reached: ")
}
