package main

import (
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"weedlc/internal/weedtest"
)

// reading is one measurement of one tool.
type reading struct {
	// Seconds is what counts: the wall time of the process or the bare loop; of
	// the built-in pass its own account, without the shell around it.
	Seconds float64 `json:"seconds"`
	// Own is the tool's own account of a process's time, Process the wall time of
	// the process where it is not what counts; 0 is none.
	Own     float64 `json:"own_seconds,omitzero"`
	Process float64 `json:"process_seconds,omitzero"`
	// Busy is the processor time of the whole machine meanwhile, with the server and
	// the kernel, Client the tool's own part of it, Stolen what the host gave to other
	// guests; 0 is not known.
	Busy   float64 `json:"busy_seconds,omitzero"`
	Client float64 `json:"client_seconds,omitzero"`
	Stolen float64 `json:"stolen_seconds,omitzero"`
	// PeakMB is the most resident memory of the process; 0 is not known.
	PeakMB float64 `json:"peak_mb,omitzero"`
	// Calls, Events and Entries are null when they are not known.
	Calls   *int64 `json:"delete_calls"`
	Events  *int64 `json:"events"`
	Entries *int64 `json:"entries"`
	// Left were due and are still there, Wrong were not due and are gone.
	Left  int      `json:"left"`
	Wrong int      `json:"wrong"`
	Notes []string `json:"notes,omitempty"`
}

func (r *reading) note(format string, args ...any) {
	r.Notes = append(r.Notes, strings.Join(strings.Fields(fmt.Sprintf(format, args...)), " "))
}

// aside is what a reader of a reading must know.
func (r *reading) aside() string {
	var b strings.Builder
	if r.Left > 0 {
		_, _ = fmt.Fprintf(&b, "; LEFT %d", r.Left)
	}
	if r.Wrong > 0 {
		_, _ = fmt.Fprintf(&b, "; WRONGLY TOOK %d", r.Wrong)
	}
	for _, n := range r.Notes {
		_, _ = fmt.Fprintf(&b, "; %s", n)
	}
	return b.String()
}

// row is one tool in one case of a scenario.
type row struct {
	Scenario string `json:"scenario"`
	Case     string `json:"case,omitempty"`
	Tool     string `json:"tool"`
	// Part is set for bare calls.
	Part part `json:"part,omitempty"`
	// Entries is the scenario's size; Units is how much of it the tool had to deal
	// with, for the rate.
	Entries int    `json:"scenario_entries"`
	Units   int    `json:"units,omitzero"`
	Unit    string `json:"unit,omitempty"`
	// Counted are the delete calls of a run that was counted and not measured.
	Counted  *int64    `json:"counted_delete_calls,omitempty"`
	Readings []reading `json:"runs"`
}

func (r *row) seconds() float64 {
	return median(r.Readings, func(x reading) float64 { return x.Seconds })
}

// calls are the delete calls; false when they are not known.
func (r *row) calls() (int64, bool) {
	if r.Counted != nil {
		return *r.Counted, true
	}
	return medianCount(r.Readings, func(x reading) *int64 { return x.Calls })
}

// median of an even number is the lower one of the two in the middle.
func median(list []reading, of func(reading) float64) float64 {
	var values []float64
	for _, r := range list {
		values = append(values, of(r))
	}
	if len(values) == 0 {
		return 0
	}
	slices.Sort(values)
	return values[(len(values)-1)/2]
}

func medianCount(list []reading, of func(reading) *int64) (int64, bool) {
	known := slices.DeleteFunc(slices.Clone(list), func(r reading) bool { return of(r) == nil })
	return int64(median(known, func(r reading) float64 { return float64(*of(r)) })), len(known) > 0
}

// result is everything that one run of this command measured.
type result struct {
	Command  string    `json:"command"`
	Began    time.Time `json:"began"`
	Machine  machine   `json:"machine"`
	Runs     int       `json:"runs"`
	InFlight int       `json:"concurrency"`
	Goals    []goal    `json:"goals"`
	Rows     []*row    `json:"rows"`

	titles map[string]string
}

func newResult(b *bench, m machine) *result {
	r := &result{
		Command: strings.Join(append([]string{"go run ./internal/bench"}, os.Args[1:]...), " "),
		Began:   m.began, Machine: m, Runs: b.runs, InFlight: b.concurrency, Rows: b.rows, titles: map[string]string{},
	}
	for _, sc := range b.scenarios {
		r.titles[sc.name] = sc.title
	}
	r.Goals = r.judge(goals())
	return r
}

// find is a row by its tool; nil when it was not measured.
func (r *result) find(scenario, of, tool string) *row {
	for _, row := range r.Rows {
		if row.Scenario == scenario && row.Case == of && row.Tool == tool {
			return row
		}
	}
	return nil
}

// ceiling is the time that nothing can be faster than: of the parts that the
// job has, the one that takes longest, done bare in the fastest way; 0 when no
// part was measured.
func (r *result) ceiling(scenario, of string) float64 {
	best := map[part]float64{}
	for _, row := range r.Rows {
		if row.Scenario != scenario || row.Case != of || row.Part == "" {
			continue
		}
		if s := row.seconds(); best[row.Part] == 0 || s < best[row.Part] {
			best[row.Part] = s
		}
	}
	longest := 0.0
	for _, s := range best {
		longest = max(longest, s)
	}
	return longest
}

func (r *result) writeJSON(file string) error {
	data, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(file, append(data, '\n'), 0o644)
}

// machine is where it was measured.
type machine struct {
	CPU    string  `json:"cpu"`
	Cores  int     `json:"cores"`
	MemGB  float64 `json:"memory_gb"`
	Go     string  `json:"go"`
	Server string  `json:"seaweedfs"`
	// Load is the load average of the minute before.
	Load string `json:"load_before"`

	began time.Time
}

func thisMachine() machine {
	m := machine{Cores: runtime.NumCPU(), Go: runtime.Version(), Server: weedtest.ServerVersion, began: time.Now().UTC().Truncate(time.Second)}
	m.CPU = fieldOf("/proc/cpuinfo", "model name")
	var kb float64
	if _, err := fmt.Sscan(fieldOf("/proc/meminfo", "MemTotal"), &kb); err == nil {
		m.MemGB = float64(int(kb/1024/1024*10)) / 10
	}
	if load, err := os.ReadFile("/proc/loadavg"); err == nil {
		m.Load, _, _ = strings.Cut(string(load), " ")
	}
	return m
}

// fieldOf is the value of the first "name: value" line; empty without one.
func fieldOf(file, name string) string {
	data, _ := os.ReadFile(file)
	for line := range strings.Lines(string(data)) {
		if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// quieten keeps this process's own memory out of a measurement.
func quieten() { debug.FreeOSMemory() }
