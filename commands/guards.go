package commands

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/pflag"
	"golang.org/x/time/rate"

	"weedlc/cursorfile"
	"weedlc/pass"
)

// guardOptions keep run and walk from doing harm.
type guardOptions struct {
	maxDeletes  int64
	maxFraction float64
	hours       workHours
	auditFile   string
	rates       bucketRates
	limiters    *bucketLimiters
}

func (o *guardOptions) AddFlags(flags *pflag.FlagSet) {
	flags.Var(countValue{&o.maxDeletes, 0}, "max-deletes", "objects to delete in a pass at most; 0 is no limit")
	flags.Var(fractionValue{&o.maxFraction}, "max-fraction", "largest part of a walked bucket's objects that may be due, as in 0.1 or 10%; a bucket above it is left alone; 0 is no limit")
	flags.Var(&o.hours, "work-time", "hours of the local day in which to delete, as in 22:00-05:00; several may be given")
	flags.StringVar(&o.auditFile, "audit-log", "", "append a JSON line for each delete and what came of it to this `file`")
	flags.Var(bucketRatesValue{&o.rates}, "bucket-deletes-per-second", "delete calls per second at most in each bucket, or with BUCKET=RATE in one; 0 is no limit")
	settings(flags, "max-deletes", "max-fraction", "work-time", "audit-log", "bucket-deletes-per-second")
}

// apply puts the guards into the options of a pass; release is for when that has
// ended.
func (o *guardOptions) apply(a *app, files cursorfile.Files, p *pass.Options) (release func(), err error) {
	if o.limiters == nil {
		o.limiters = &bucketLimiters{rates: o.rates, byBucket: map[string]*rate.Limiter{}}
	}
	p.Guards = pass.Guards{
		MaxDeletes: o.maxDeletes, MaxFraction: o.maxFraction,
		BucketLimiter: o.limiters.of, Closed: o.hours.closed, Paused: pausedIn(files),
	}
	if o.auditFile == "" {
		return func() {}, nil
	}
	log, err := openAuditLog(o.auditFile, rand.Text(), a.host.Now)
	if err != nil {
		return nil, err
	}
	p.Guards.Audit = log
	return log.close, nil
}

// pausedIn is how a pass asks whether it is paused.
func pausedIn(files cursorfile.Files) func(context.Context) (string, error) {
	return func(ctx context.Context) (string, error) {
		p, err := cursorfile.ReadPause(ctx, files)
		if p == nil || err != nil {
			return "", err
		}
		return p.String(), nil
	}
}

// warnPaused tells the person in front of a command that only reads.
func (a *app) warnPaused(ctx context.Context, files cursorfile.Files) {
	p, err := cursorfile.ReadPause(ctx, files)
	switch {
	case err != nil:
		a.log.Warn("nobody knows whether passes are paused", "error", err)
	case p != nil:
		a.log.Warn("weedlc is " + p.String())
	}
}

// bucketLimiters are the limiters of the process, one for each bucket that has
// a rate.
type bucketLimiters struct {
	rates bucketRates

	mu       sync.Mutex
	byBucket map[string]*rate.Limiter
}

// of is the limiter of a bucket; nil is no limit.
func (l *bucketLimiters) of(bucket string) *rate.Limiter {
	perSecond := l.rates.of(bucket)
	if perSecond == 0 {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.byBucket[bucket] == nil {
		l.byBucket[bucket] = newLimiter(perSecond, 0)
	}
	return l.byBucket[bucket]
}

// guardHint says what to do about a guard that held; empty when nothing is to
// be done.
func guardHint(problems []pass.Problem, again string) string {
	for _, p := range problems {
		switch p.Guard {
		case pass.GuardPause:
			return "weedlc resume lifts the pause; then: " + again
		case pass.GuardHours:
			return "a pass within these hours goes on; progress is saved"
		case pass.GuardMaxDeletes:
			return "weedlc dry-run shows what else is due; progress is saved, go on with " + again
		case pass.GuardMaxFraction:
			return fmt.Sprintf("weedlc dry-run --bucket %s shows what is due there; if that is meant, run once without --max-fraction", shellWord(p.Bucket))
		}
	}
	return ""
}

// excludeOptions narrow a walk. A pass cannot be narrowed: its positions cover
// every bucket.
type excludeOptions struct{ buckets, prefixes []string }

func (o *excludeOptions) AddFlags(flags *pflag.FlagSet) {
	flags.Var(newList(&o.buckets), "exclude-bucket", "buckets not to walk")
	flags.StringArrayVar(&o.prefixes, "exclude-prefix", nil, "leave alone keys that begin with this `prefix`; may be given several times")
}

// validate takes the buckets and the prefix that are asked for.
func (o *excludeOptions) validate(buckets []string, prefix string) error {
	var errs []error
	for _, b := range o.buckets {
		for _, asked := range buckets {
			if b == asked {
				errs = append(errs, fmt.Errorf("bucket %q is both asked for and excluded", b))
			}
		}
	}
	for _, p := range o.prefixes {
		if p == "" {
			errs = append(errs, errors.New(`--exclude-prefix "": must not be empty`))
		} else if prefix != "" && strings.HasPrefix(prefix, p) {
			errs = append(errs, fmt.Errorf("nothing to walk: --exclude-prefix %q excludes all of --prefix %q", p, prefix))
		}
	}
	return errors.Join(errs...)
}

func (o *excludeOptions) apply(w *pass.WalkOptions) {
	w.ExcludeBuckets, w.ExcludePrefixes = o.buckets, o.prefixes
}

// narrows reports whether a flag leaves a part of the objects out.
func narrows(flag string) bool {
	return slices.Contains([]string{"bucket", "all-buckets", "prefix", "exclude-bucket", "exclude-prefix"}, flag)
}
