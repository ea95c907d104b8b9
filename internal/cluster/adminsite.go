package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	httpclient "github.com/seaweedfs/seaweedfs/weed/util/http/client"
)

// adminSite is an admin server's web interface.
type adminSite struct {
	base           string
	client         http.Client
	user, password string
}

func newAdminSite(creds *credentials, address string, timeout time.Duration) (*adminSite, error) {
	jar, err := cookiejar.New(nil)
	if err != nil {
		return nil, err
	}
	s := &adminSite{base: "http://" + address, user: creds.siteUser, password: creds.sitePassword}
	if secure, ok := creds.http.(*httpclient.HTTPClient); ok {
		s.base, s.client = "https://"+address, *secure.Client
	}
	s.client.Jar, s.client.Timeout = jar, timeout
	s.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return s, nil
}

var errLogin = errors.New("the web interface asks for a login")

// workers lists the connected workers, after a login if one is asked for.
func (s *adminSite) workers(ctx context.Context) ([]AdminWorker, error) {
	list, err := s.listWorkers(ctx)
	if !errors.Is(err, errLogin) {
		return list, err
	}
	if s.password == "" {
		return nil, fmt.Errorf("%w; security.toml has neither admin.readonly.password nor admin.password", err)
	}
	if err := s.login(ctx); err != nil {
		return nil, err
	}
	return s.listWorkers(ctx)
}

func (s *adminSite) listWorkers(ctx context.Context) ([]AdminWorker, error) {
	body, err := s.do(ctx, http.MethodGet, "/api/plugin/workers", nil)
	if err != nil {
		return nil, err
	}
	var sessions []struct {
		WorkerID, Address, WorkerVersion string
		Capabilities                     map[string]struct {
			CanDetect  bool `json:"can_detect"`
			CanExecute bool `json:"can_execute"`
		}
	}
	if err := json.Unmarshal(body, &sessions); err != nil {
		return nil, fmt.Errorf("the list of workers cannot be read: %w", err)
	}
	var list []AdminWorker
	for _, session := range sessions {
		w := AdminWorker{ID: session.WorkerID, Address: session.Address, Version: session.WorkerVersion}
		for _, job := range slices.Sorted(maps.Keys(session.Capabilities)) {
			if c := session.Capabilities[job]; c.CanDetect || c.CanExecute {
				w.Runs = append(w.Runs, job)
			}
		}
		list = append(list, w)
	}
	return list, nil
}

// loginToken is where the login page carries the token that has to come back
// with the form.
var loginToken = regexp.MustCompile(`name="csrf_token" value="([^"]+)"`)

// login leaves the session's cookie in the jar.
func (s *adminSite) login(ctx context.Context) error {
	page, err := s.do(ctx, http.MethodGet, "/login", nil)
	if err != nil {
		return err
	}
	token := loginToken.FindSubmatch(page)
	if token == nil {
		return errors.New("its login page has no csrf_token")
	}
	_, err = s.do(ctx, http.MethodPost, "/login", url.Values{
		"username": {s.user}, "password": {s.password}, "csrf_token": {string(token[1])},
	})
	return err
}

// maxAnswer is far above the list of a thousand workers.
const maxAnswer = 16 << 20

func (s *adminSite) do(ctx context.Context, method, path string, form url.Values) ([]byte, error) {
	var body io.Reader
	if form != nil {
		body = strings.NewReader(form.Encode())
	}
	req, err := http.NewRequestWithContext(ctx, method, s.base+path, body)
	if err != nil {
		return nil, err
	}
	if form != nil {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	resp, err := s.client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return nil, err
	}
	switch location, err := resp.Location(); {
	case resp.StatusCode == http.StatusUnauthorized:
		return nil, errLogin
	case err == nil && location.Query().Has("error"):
		return nil, fmt.Errorf("the login as %q is refused: %s", s.user, location.Query().Get("error"))
	case resp.StatusCode >= http.StatusBadRequest:
		return nil, fmt.Errorf("%s %s: %s", method, path, resp.Status)
	}
	return answer, nil
}
