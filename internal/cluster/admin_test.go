package cluster_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/seaweedfs/seaweedfs/weed/pb/plugin_pb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"weedlc/internal/cluster"
)

// fakeAdmin accepts workers.
type fakeAdmin struct {
	plugin_pb.UnimplementedPluginControlServiceServer
	refuse error
	// token is that of the last worker.
	token string
}

func (a *fakeAdmin) WorkerStream(s grpc.BidiStreamingServer[plugin_pb.WorkerToAdminMessage, plugin_pb.AdminToWorkerMessage]) error {
	if md, ok := metadata.FromIncomingContext(s.Context()); ok {
		a.token = strings.Join(md.Get("authorization"), " ")
	}
	if a.refuse != nil {
		return a.refuse
	}
	m, err := s.Recv()
	if err != nil {
		return err
	}
	if err := s.Send(&plugin_pb.AdminToWorkerMessage{RequestId: m.GetWorkerId()}); err != nil {
		return err
	}
	return status.Error(codes.Unavailable, "going down")
}

func serveAdmin(t *testing.T, a *fakeAdmin) string {
	t.Helper()
	return dotted(serve(t, func(s *grpc.Server) { plugin_pb.RegisterPluginControlServiceServer(s, a) }))
}

func newAdmin(t *testing.T, address, security string) *cluster.Admin {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "security.toml"), []byte(security), 0o600); err != nil {
		t.Fatal(err)
	}
	a, err := cluster.NewAdmin(t.Context(), cluster.AdminOptions{Address: address, SecurityDirs: []string{dir}, Timeout: 5 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = a.Close() })
	return a
}

// converse says hello and hears the answer.
func converse(ctx context.Context, a *cluster.Admin) (*cluster.WorkerStream, string, error) {
	stream, err := a.WorkerStream(ctx)
	if err != nil {
		return nil, "", err
	}
	if err := stream.Send(&plugin_pb.WorkerToAdminMessage{WorkerId: "w1"}); err != nil {
		return nil, "", err
	}
	m, err := stream.Recv()
	return stream, m.GetRequestId(), err
}

func TestWorkerStream(t *testing.T) {
	fake := &fakeAdmin{}
	a := newAdmin(t, serveAdmin(t, fake), "[jwt.filer_signing]\nkey = \"k\"\n")
	stream, got, err := converse(t.Context(), a)
	if err != nil || got != "w1" {
		t.Fatalf("heard %q, %v", got, err)
	}
	if !strings.HasPrefix(fake.token, "Bearer ey") {
		t.Errorf("the token is %q", fake.token)
	}
	_, err = stream.Recv()
	if call, ok := errors.AsType[*cluster.CallError](err); !ok || call.Role != cluster.AdminServer || !strings.Contains(err.Error(), "going down") {
		t.Errorf("the end of the stream is %v", err)
	}
}

func TestWorkerStreamThatDoesNotBegin(t *testing.T) {
	master := serveMaster(t, &fakeMaster{})
	for want, address := range map[string]string{
		"cannot be reached: ":                      dotted(nobody(t)),
		"has no service for workers there":         master,
		"refuses us: no":                           serveAdmin(t, &fakeAdmin{refuse: status.Error(codes.Unauthenticated, "no")}),
		"does not answer: admin server of the day": serveAdmin(t, &fakeAdmin{refuse: status.Error(codes.Internal, "admin server of the day")}),
	} {
		_, _, err := converse(t.Context(), newAdmin(t, address, ""))
		refused, ok := errors.AsType[*cluster.ConnectError](err)
		if !ok || refused.Role != cluster.AdminServer || refused.Address != address || !strings.HasPrefix(refused.Reason, want) {
			t.Errorf("the admin server at %q is %v, want %q", address, err, want)
		}
	}
}

func TestAdminAddresses(t *testing.T) {
	for address, want := range map[string]string{
		"a":               `admin server "a" is not of the form host:port`,
		"a:x":             `admin server "a:x" has no valid port: "x"`,
		"192.0.2.1:12535": `admin server "192.0.2.1:12535" is on another host, and plain text to another host is refused`,
	} {
		_, err := cluster.NewAdmin(t.Context(), cluster.AdminOptions{Address: address, SecurityDirs: []string{t.TempDir()}})
		if err == nil || err.Error() != want {
			t.Errorf("%q: %v, want %s", address, err, want)
		}
	}
}

// A certificate of the worker's section is needed, whatever else has one.
func TestWorkersOwnCertificate(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "security.toml")
	if err := os.WriteFile(file, []byte("[grpc.worker]\ncert = \"c\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := cluster.NewAdmin(t.Context(), cluster.AdminOptions{Address: "localhost:1", SecurityDirs: []string{dir}})
	if want := fmt.Sprintf("%q: grpc.worker.cert and grpc.worker.key must both be set", file); err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

func answer(w io.Writer, text string) {
	if _, err := io.WriteString(w, text); err != nil {
		panic(err)
	}
}

// site is an admin server's web interface with a password.
func site(password string) http.Handler {
	mux := http.NewServeMux()
	cookie := func(r *http.Request) string {
		if c, err := r.Cookie("admin-session"); err == nil {
			return c.Value
		}
		return ""
	}
	mux.HandleFunc("GET /login", func(w http.ResponseWriter, _ *http.Request) {
		http.SetCookie(w, &http.Cookie{Name: "admin-session", Value: "visitor"})
		answer(w, `<input type="hidden" name="csrf_token" value="t0ken">`)
	})
	mux.HandleFunc("POST /login", func(w http.ResponseWriter, r *http.Request) {
		if cookie(r) != "visitor" || r.FormValue("csrf_token") != "t0ken" || r.FormValue("username") != "admin" || r.FormValue("password") != password {
			http.Redirect(w, r, "/login?error=Invalid+credentials", http.StatusSeeOther)
			return
		}
		http.SetCookie(w, &http.Cookie{Name: "admin-session", Value: "admin"})
		http.Redirect(w, r, "/admin", http.StatusSeeOther)
	})
	mux.HandleFunc("GET /api/plugin/workers", func(w http.ResponseWriter, r *http.Request) {
		if password != "" && cookie(r) != "admin" {
			http.Error(w, "{}", http.StatusUnauthorized)
			return
		}
		answer(w, `[{"WorkerID":"w1","Address":"h1","WorkerVersion":"4.53","Capabilities":{
			"vacuum":{"job_type":"vacuum","can_execute":true},"s3_lifecycle":{"can_detect":true},"idle":{"job_type":"idle"}}}]`)
	})
	return mux
}

func TestWorkersOfAnAdminServer(t *testing.T) {
	list := []cluster.AdminWorker{{ID: "w1", Address: "h1", Version: "4.53", Runs: []string{"s3_lifecycle", "vacuum"}}}
	for name, tc := range map[string]struct {
		password, security, want string
	}{
		"open":           {},
		"a login":        {password: "p", security: "[admin]\npassword = \"p\"\n"},
		"a reader":       {password: "p", security: "[admin]\npassword = \"q\"\n[admin.readonly]\nuser = \"admin\"\npassword = \"p\"\n"},
		"no password":    {password: "p", want: "list its workers: the web interface asks for a login; security.toml has neither"},
		"wrong password": {password: "p", security: "[admin]\nuser = \"admin\"\npassword = \"q\"\n", want: `list its workers: the login as "admin" is refused: Invalid credentials`},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(site(tc.password))
			t.Cleanup(server.Close)
			a := newAdmin(t, server.Listener.Addr().String()+".1", tc.security)
			for range 2 { // the second time with a session
				got, err := a.Workers(t.Context())
				if tc.want == "" && (err != nil || !reflect.DeepEqual(got, list)) {
					t.Errorf("the workers are %+v, %v", got, err)
				}
				if tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
					t.Errorf("%v, want %s", err, tc.want)
				}
			}
		})
	}
}

func TestWorkersOfWhatIsNoAdminServer(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(server.Close)
	if _, err := newAdmin(t, server.Listener.Addr().String()+".1", "").Workers(t.Context()); err == nil || !strings.Contains(err.Error(), "404") {
		t.Errorf("%v", err)
	}
	if _, err := newAdmin(t, nobody(t)+".1", "").Workers(t.Context()); err == nil || !strings.Contains(err.Error(), "refused") {
		t.Errorf("%v", err)
	}
}
