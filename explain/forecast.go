package explain

import (
	"time"

	"weedlc/engine"
)

// Forecast adds up when how much goes, by calendar days of UTC. Its size is
// that of the days, not that of the objects. It is not safe for concurrent use.
type Forecast struct {
	now    time.Time
	first  time.Time // 00:00 of today
	report ForecastReport
}

// ForecastReport is what a forecast has added up.
type ForecastReport struct {
	// Now is what is due already.
	Now Counts `json:"now"`
	// Days are today and those after it, empty ones too.
	Days []ForecastDay `json:"days"`
	// Later is due behind the last day. Never is due but locked without an end.
	Later Counts `json:"later"`
	Never Counts `json:"never"`
}

// ForecastDay is what becomes due on one day.
type ForecastDay struct {
	// Date is the day as 2006-01-02, in UTC.
	Date string `json:"date"`
	Counts
}

// NewForecast returns an empty forecast of that many days, today the first of
// them.
func NewForecast(now time.Time, days int) *Forecast {
	now = now.UTC()
	f := &Forecast{now: now, first: time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, time.UTC)}
	f.report.Days = make([]ForecastDay, max(days, 0))
	for i := range f.report.Days {
		f.report.Days[i].Date = f.first.AddDate(0, 0, i).Format(time.DateOnly)
	}
	return f
}

// Add counts an object of a bucket for the day on which the action that is due
// first can be carried out: see engine.NextDue and GoesAt. What follows from it later,
// such as the end of a version that a delete marker hides, is not counted.
func (f *Forecast) Add(b engine.Bucket, a *engine.Action, o *engine.Object, due time.Time) {
	c := countOf(EffectOf(a.Kind, b.Versioning), b.Versioning, o)
	at, ok := GoesAt(o, due)
	switch {
	case !ok:
		f.report.Never.Add(c)
	case !at.After(f.now):
		f.report.Now.Add(c)
	default:
		if i := f.day(at); i < len(f.report.Days) {
			f.report.Days[i].Counts.Add(c)
		} else {
			f.report.Later.Add(c)
		}
	}
}

// day is the place of a time among the days; one too far for a Duration is
// behind them all.
func (f *Forecast) day(at time.Time) int { return int(at.Sub(f.first) / (24 * time.Hour)) }

// Report is what was added up so far. The caller may keep it.
func (f *Forecast) Report() ForecastReport {
	r := f.report
	r.Days = append([]ForecastDay{}, f.report.Days...)
	return r
}
