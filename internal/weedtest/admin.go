package weedtest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// AdminServer is a running weed admin of a cluster.
type AdminServer struct {
	cluster *Cluster
	process *process
}

// StartAdmin starts an admin server and waits until its page answers. With a
// password its web interface asks for a login as "admin". It ends with the
// test, which gets the end of its log when it fails.
func (c *Cluster) StartAdmin(t TB, password string) *AdminServer {
	t.Helper()
	dir := filepath.Join(c.slot.dir, string(Admin))
	addr := c.Addr(Admin)
	p := c.newProcess(t, Admin, dir, []string{
		"admin", "-ip=" + loopback, "-master=" + c.Addr(Master).String(), "-dataDir=" + dir,
		fmt.Sprintf("-port=%d", addr.Port), fmt.Sprintf("-port.grpc=%d", addr.GRPCPort), "-port.legacy=0",
		"-adminPassword=" + password,
	})
	a := &AdminServer{cluster: c, process: p}
	if err := a.start(t.Context()); err != nil {
		t.Fatalf("cannot start the admin server: %v", err)
	}
	return a
}

// newProcess prepares a process that ends with the test.
func (c *Cluster) newProcess(t TB, role Role, dir string, args []string) *process {
	t.Helper()
	binary, err := Binary(t.Context())
	if err == nil {
		err = errors.Join(os.RemoveAll(dir), os.Mkdir(dir, 0o700), c.writeFiles(dir))
	}
	if err != nil {
		t.Fatalf("cannot prepare %s: %v", role, err)
	}
	p := &process{role: role, binary: binary, dir: dir, args: args}
	t.Cleanup(func() {
		if err := p.kill(); err != nil {
			t.Logf("cannot end %s: %v", role, err)
		}
		if t.Failed() {
			t.Logf("--- %s\n%s", role, p.logTail(40))
		}
	})
	return p
}

func (a *AdminServer) start(ctx context.Context) error {
	if err := a.process.start(); err != nil {
		return err
	}
	return a.await(ctx, func(ctx context.Context) error {
		_, err := a.request(ctx, http.MethodGet, "/health", nil)
		return err
	})
}

// await waits for a probe to succeed.
func (a *AdminServer) await(ctx context.Context, probe func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	tick := time.NewTicker(readyPoll)
	defer tick.Stop()
	for {
		err := probe(ctx)
		if err == nil {
			return nil
		}
		if !a.process.running() {
			return fmt.Errorf("the admin server has ended:\n%s", a.process.logTail(40))
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return err
		}
	}
}

// Addr is where the admin server listens.
func (a *AdminServer) Addr() Address { return a.cluster.Addr(Admin) }

// Dir is where the admin server keeps its data.
func (a *AdminServer) Dir() string { return a.process.dir }

// Restart kills the admin server and starts it again on what it has saved.
func (a *AdminServer) Restart(ctx context.Context) error {
	if err := a.process.kill(); err != nil {
		return err
	}
	return a.start(ctx)
}

// Call is a request to the web interface's API, as POST /api/plugin/… with body
// where there is one. The answer is decoded into out unless that is nil.
func (a *AdminServer) Call(ctx context.Context, method, path string, body, out any) error {
	var data []byte
	if body != nil {
		var err error
		if data, err = json.Marshal(body); err != nil {
			return err
		}
	}
	answer, err := a.request(ctx, method, path, data)
	if err != nil || out == nil {
		return err
	}
	return json.Unmarshal(answer, out)
}

func (a *AdminServer) request(ctx context.Context, method, path string, body []byte) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, method, "http://"+a.Addr().HTTP()+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode >= http.StatusBadRequest {
		err = fmt.Errorf("%s %s: %s: %s", method, path, resp.Status, answer)
	}
	return answer, err
}

// StartBuiltInWorker starts a weed worker for the lifecycle and, where others
// are named, other job types, and waits until it is connected. It ends with the
// test, or with the call of the function that is returned.
func (a *AdminServer) StartBuiltInWorker(t TB, id string, others ...string) (stop func()) {
	t.Helper()
	jobs := "s3_lifecycle"
	for _, job := range others {
		jobs += "," + job
	}
	dir := filepath.Join(a.cluster.slot.dir, "worker-"+id)
	p := a.cluster.newProcess(t, Role("worker "+id), dir, []string{
		"worker", "-admin=" + a.Addr().String(), "-id=" + id, "-jobType=" + jobs, "-workingDir=" + dir, "-heartbeat=1s", "-reconnect=1s",
	})
	err := p.start()
	if err == nil {
		err = a.await(t.Context(), func(context.Context) error {
			if !strings.Contains(a.process.logTail(1000), "Plugin worker connected: "+id+" ") {
				return errors.New("it does not connect")
			}
			return nil
		})
	}
	if err != nil {
		t.Fatalf("cannot start the built-in worker: %v", err)
	}
	return func() {
		if err := p.kill(); err != nil {
			t.Fatalf("cannot end the built-in worker: %v", err)
		}
	}
}
