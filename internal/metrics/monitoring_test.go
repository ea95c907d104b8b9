package metrics

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"weedlc/engine"
	"weedlc/internal/promtest"
	"weedlc/pass"
)

// monitoring is where the dashboard, the alerts and the list of metrics are.
const monitoring = "../../docs/monitoring"

func TestAlerts(t *testing.T) {
	promtest.Run(t, monitoring, "check", "rules", "alerts.yml")
	promtest.Run(t, monitoring, "test", "rules", "alerts_test.yml")
}

// Every alert has a test that expects it.
func TestEveryAlertIsTested(t *testing.T) {
	tests := file(t, "alerts_test.yml")
	for _, m := range regexp.MustCompile(`- alert: (\w+)`).FindAllStringSubmatch(file(t, "alerts.yml"), -1) {
		if !strings.Contains(tests, "alertname: "+m[1]+"\n        exp_alerts:\n") {
			t.Errorf("%s fires in no test", m[1])
		}
	}
}

// fill gives each family a value.
func fill(m *Metrics) *Metrics {
	m.Scanned(0)
	m.Walked(0, 1)
	m.Called(0)
	m.RangeRead()
	m.Settled(pass.Deletion{Object: &engine.Object{Bucket: "logs"}, Action: &engine.Action{Kind: engine.ExpirationDays}, Outcome: pass.Done})
	m.Saved(&engine.ShardState{}, 0)
	m.Ended(&pass.Report{Status: pass.OK})
	m.Queue(Queue{Jobs: map[string]int64{"ready": 1}})
	return m
}

func TestCheckMetrics(t *testing.T) {
	promtest.CheckMetrics(t, text(t, fill(newMetrics())))
}

// families are the names of the metrics with their types.
func families(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, m := range regexp.MustCompile(`(?m)^# TYPE (\w+) (\w+)$`).FindAllStringSubmatch(text(t, fill(newMetrics())), -1) {
		found[m[1]] = m[2]
	}
	return found
}

var metricName = regexp.MustCompile(`s3_lifecycle_\w+`)

// What the dashboard and the alerts ask for is there, and the list in the
// README is that of the metrics.
func TestNamesInDocs(t *testing.T) {
	known := families(t)
	for _, name := range []string{"alerts.yml", "alerts_test.yml", "dashboard.json"} {
		for _, used := range metricName.FindAllString(file(t, name), -1) {
			base := strings.TrimSuffix(strings.TrimSuffix(used, "_count"), "_bucket")
			if known[used] == "" && known[base] != "histogram" {
				t.Errorf("%s: there is no metric %s", name, used)
			}
		}
	}
	listed := map[string]string{}
	for _, m := range regexp.MustCompile("(?m)^\\| `(s3_lifecycle_\\w+)(?:\\{[a-z,]+\\})?` \\| (\\w+) \\|").FindAllStringSubmatch(file(t, "README.md"), -1) {
		listed[m[1]] = m[2]
	}
	for name, kind := range known {
		if listed[name] != kind {
			t.Errorf("README.md has %s as a %q, it is a %s", name, listed[name], kind)
		}
	}
	for name := range listed {
		if known[name] == "" {
			t.Errorf("README.md lists %s, which is not there", name)
		}
	}
}

type dashboard struct {
	Panels []struct {
		ID      int
		Title   string
		GridPos struct{ X, Y, W, H int }
		Targets []struct{ Expr string }
	}
}

// The dashboard's panels lie beside each other, and Prometheus understands
// what they ask.
func TestDashboard(t *testing.T) {
	var d dashboard
	check(t, json.Unmarshal([]byte(file(t, "dashboard.json")), &d))
	if len(d.Panels) < 10 {
		t.Fatalf("%d panels", len(d.Panels))
	}
	var rules strings.Builder
	rules.WriteString("groups:\n- name: dashboard\n  rules:\n")
	var ids []int
	taken := map[[2]int]string{}
	for _, p := range d.Panels {
		if p.ID == 0 || slices.Contains(ids, p.ID) {
			t.Errorf("panel %q: id %d is taken", p.Title, p.ID)
		}
		ids = append(ids, p.ID)
		for x := p.GridPos.X; x < p.GridPos.X+p.GridPos.W; x++ {
			for y := p.GridPos.Y; y < p.GridPos.Y+p.GridPos.H; y++ {
				if other := taken[[2]int{x, y}]; other != "" || x >= 24 {
					t.Fatalf("panel %q lies over %q or the edge", p.Title, other)
				}
				taken[[2]int{x, y}] = p.Title
			}
		}
		if len(p.Targets) == 0 {
			t.Errorf("panel %q asks for nothing", p.Title)
		}
		for i, q := range p.Targets {
			expr := strings.NewReplacer("$__rate_interval", "5m", "$instance", ".*").Replace(q.Expr)
			if strings.Contains(expr, "$") {
				t.Errorf("panel %q: a variable is left in %s", p.Title, expr)
			}
			fmt.Fprintf(&rules, "  - record: panel%d_%d\n    expr: %q\n", p.ID, i, expr)
		}
	}
	name := filepath.Join(t.TempDir(), "rules.yml")
	check(t, os.WriteFile(name, []byte(rules.String()), 0o644))
	promtest.Run(t, ".", "check", "rules", name)
}

func file(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(monitoring, name))
	check(t, err)
	return string(data)
}
