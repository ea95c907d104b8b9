package commands

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// fractionValue is a part of a whole, above 0 and up to 1, as a number or in
// percent; 0 is no limit.
type fractionValue struct{ p *float64 }

func (v fractionValue) String() string {
	if v.p == nil {
		return ""
	}
	return strconv.FormatFloat(*v.p, 'g', -1, 64)
}

func (v fractionValue) Type() string { return "fraction" }

func (v fractionValue) Set(s string) error {
	number, percent := strings.CutSuffix(s, "%")
	f, err := strconv.ParseFloat(number, 64)
	if err != nil || math.IsNaN(f) {
		return errors.New("must be a number such as 0.1, or 10%")
	}
	if percent {
		f /= 100
	}
	if f < 0 || f > 1 {
		return errors.New("must be from 0 to 1, or to 100%")
	}
	*v.p = f
	return nil
}

// hoursOf is a part of the day, from a minute of it up to another; over
// midnight when the second comes first.
type hoursOf struct{ from, to int }

func (h hoursOf) String() string {
	return fmt.Sprintf("%02d:%02d-%02d:%02d", h.from/60, h.from%60, h.to/60, h.to%60)
}

func (h hoursOf) hold(minute int) bool {
	if h.from < h.to {
		return h.from <= minute && minute < h.to
	}
	return h.from <= minute || minute < h.to
}

// workHours are a flag's hours of the day, comma separated, repeatedly, or both.
// None is all day.
type workHours struct{ hours []hoursOf }

func (v *workHours) String() string {
	words := make([]string, len(v.hours))
	for i, h := range v.hours {
		words[i] = h.String()
	}
	return strings.Join(words, ",")
}

func (v *workHours) Type() string { return "hours" }

func (v *workHours) Set(s string) error {
	var hours []hoursOf
	for word := range strings.SplitSeq(s, ",") {
		from, to, ok := strings.Cut(strings.TrimSpace(word), "-")
		begin, err := parseMinute(from)
		end, endErr := parseMinute(to)
		switch {
		case !ok || err != nil || endErr != nil || begin == minutesOfDay:
			return errors.New("must be hours such as 01:00-05:00")
		case begin == end:
			return errors.New("begins when it ends; 00:00-24:00 is all day")
		}
		hours = append(hours, hoursOf{begin, end})
	}
	v.hours = append(v.hours, hours...)
	return nil
}

const minutesOfDay = 24 * 60

// parseMinute reads a time of the day from 00:00 to 24:00.
func parseMinute(s string) (int, error) {
	if s == "24:00" {
		return minutesOfDay, nil
	}
	t, err := time.Parse("15:04", s)
	return t.Hour()*60 + t.Minute(), err
}

// closed says why nothing may be deleted at a time, whose own zone counts; empty
// is that it may.
func (v *workHours) closed(now time.Time) string {
	minute := now.Hour()*60 + now.Minute()
	if len(v.hours) == 0 || slices.ContainsFunc(v.hours, func(h hoursOf) bool { return h.hold(minute) }) {
		return ""
	}
	return fmt.Sprintf("outside the work time %s: it is %s", v, now.Format("15:04 MST"))
}

// bucketRates are deletes per second of each bucket.
type bucketRates struct {
	each     float64 // of a bucket without a rate of its own; 0 is no limit
	byBucket map[string]float64
}

func (r bucketRates) of(bucket string) float64 {
	if perSecond, ok := r.byBucket[bucket]; ok {
		return perSecond
	}
	return r.each
}

// bucketRatesValue is a flag's rates: "50" for each bucket, "logs=5" for one,
// comma separated, repeatedly, or both.
type bucketRatesValue struct{ p *bucketRates }

func (v bucketRatesValue) String() string {
	if v.p == nil {
		return ""
	}
	var words []string
	if v.p.each != 0 {
		words = append(words, rateValue{&v.p.each}.String())
	}
	for _, name := range slices.Sorted(maps.Keys(v.p.byBucket)) {
		perSecond := v.p.byBucket[name]
		words = append(words, name+"="+rateValue{&perSecond}.String())
	}
	return strings.Join(words, ",")
}

func (v bucketRatesValue) Type() string { return "rates" }

func (v bucketRatesValue) Set(s string) error {
	if v.p.byBucket == nil {
		v.p.byBucket = map[string]float64{}
	}
	for word := range strings.SplitSeq(s, ",") {
		bucket, number, named := strings.Cut(strings.TrimSpace(word), "=")
		if !named {
			bucket, number = "", bucket
		}
		var perSecond float64
		switch err := (rateValue{&perSecond}).Set(number); {
		case named && bucket == "":
			return errors.New("has no bucket before the =")
		case err != nil && number == "":
			return errors.New("must be a rate, or BUCKET=RATE")
		case err != nil:
			return fmt.Errorf("%q %s", number, err.Error())
		case named:
			v.p.byBucket[bucket] = perSecond
		default:
			v.p.each = perSecond
		}
	}
	return nil
}
