package sweep

import (
	"testing"
	"time"
)

var admitted = time.Date(2026, 8, 21, 2, 0, 0, 0, time.UTC)

func job(attempt int) Job { return Job{ID: 1, AdmittedAt: admitted, Attempt: attempt} }

func TestDecide(t *testing.T) {
	p := DefaultPolicy()
	retry := Outcome{Result: Retryable, Category: CategoryTransport}
	wish := func(d time.Duration) Outcome {
		return Outcome{Result: Retryable, Category: CategoryRetryLater, RetryAfter: d}
	}
	for _, c := range []struct {
		name     string
		attempt  int
		after    time.Duration // since the admission
		out      Outcome
		jitter   float64
		step     Step
		delay    time.Duration
		category Category
	}{
		{"done", 5, 0, Outcome{Result: Done, Category: CategoryBlocked}, 0.9, Acknowledge, 0, ""},
		{"cut", 5, 7 * time.Hour, Outcome{Result: Cut}, 0.9, Again, 0, ""},
		{"waiting", 5, 0, Outcome{Result: Waiting, Category: CategoryPaused}, 0, WaitUntil, 30 * time.Second, CategoryPaused},
		{"waiting beyond the age is left to Expire", 1, 6 * time.Hour, Outcome{Result: Waiting, Category: CategoryLocked}, 0.5, WaitUntil, 33750 * time.Millisecond, CategoryLocked},
		{"waiting as the server wishes", 1, 0, Outcome{Result: Waiting, Category: CategoryNoFiler, RetryAfter: time.Minute}, 0, WaitUntil, time.Minute, CategoryNoFiler},

		{"first retry", 1, 0, retry, 0, RetryAt, 30 * time.Second, CategoryTransport},
		{"jitter adds up to a quarter", 1, 0, retry, 0.999999, RetryAt, 37499992500 * time.Nanosecond, CategoryTransport},
		{"doubled", 2, 0, retry, 0, RetryAt, time.Minute, CategoryTransport},
		{"doubled again", 4, 0, retry, 0, RetryAt, 4 * time.Minute, CategoryTransport},
		{"a wish that is earlier", 2, 0, wish(59 * time.Second), 0, RetryAt, time.Minute, CategoryRetryLater},
		{"a wish that is later", 2, 0, wish(61 * time.Second), 0, RetryAt, 61 * time.Second, CategoryRetryLater},
		{"jitter never makes a wish earlier", 1, 0, wish(40 * time.Second), 0.5, RetryAt, 45 * time.Second, CategoryRetryLater},

		{"the last attempt", 5, 0, retry, 0, Bury, 0, CategoryAttempts},
		{"beyond the last attempt", 6, 0, retry, 0, Bury, 0, CategoryAttempts},
		{"again at exactly the age", 1, 6*time.Hour - 30*time.Second, retry, 0, RetryAt, 30 * time.Second, CategoryTransport},
		{"again beyond the age", 1, 6*time.Hour - 30*time.Second + 1, retry, 0, Bury, 0, CategoryAge},
		{"a wish beyond the age", 1, 0, wish(7 * time.Hour), 0, Bury, 0, CategoryAge},

		{"blocked", 1, 0, Outcome{Result: Terminal, Category: CategoryBlocked}, 0, Bury, 0, CategoryBlocked},
		{"input", 1, 0, Outcome{Result: Terminal, Category: CategoryInput}, 0, Bury, 0, CategoryInput},
		{"terminal has two categories", 1, 0, Outcome{Result: Terminal, Category: CategoryTransport}, 0, Bury, 0, CategoryInput},
		{"no result", 1, 0, Outcome{}, 0, Bury, 0, CategoryInput},
	} {
		t.Run(c.name, func(t *testing.T) {
			now := admitted.Add(c.after)
			d := p.Decide(job(c.attempt), c.out, now, c.jitter)
			delay := time.Duration(0)
			if !d.At.IsZero() {
				delay = d.At.Sub(now)
			}
			if d.Step != c.step || delay != c.delay || d.Category != c.category || !d.Executed {
				t.Errorf("%s after %s, %q; want %s after %s, %q", d.Step, delay, d.Category, c.step, c.delay, c.category)
			}
		})
	}
}

func TestBackoffEnds(t *testing.T) {
	p := DefaultPolicy()
	p.MaxAttempts, p.MaxAge = 1000, 24*time.Hour
	for attempt, want := range map[int]time.Duration{6: 16 * time.Minute, 7: 30 * time.Minute, 8: 30 * time.Minute, 999: 30 * time.Minute} {
		if d := p.Decide(job(attempt), Outcome{Result: Retryable}, admitted, 0); d.At.Sub(admitted) != want {
			t.Errorf("attempt %d: again after %s, want %s", attempt, d.At.Sub(admitted), want)
		}
	}
}

func TestExhausted(t *testing.T) {
	p := DefaultPolicy()
	for _, c := range []struct {
		name     string
		attempt  int
		age      time.Duration
		category Category // "" is not exhausted
	}{
		{"fresh", 1, 0, ""},
		{"the last attempt", 5, 0, ""},
		{"workers died in every attempt", 6, 0, CategoryAttempts},
		{"at its age", 1, 6 * time.Hour, ""},
		{"beyond its age", 1, 6*time.Hour + 1, CategoryAge},
	} {
		d, spent := p.Exhausted(job(c.attempt), admitted.Add(c.age))
		if spent != (c.category != "") || d.Category != c.category || spent && d.Step != Bury || d.Executed {
			t.Errorf("%s: %+v, %t", c.name, d, spent)
		}
	}
}
