package commands

import (
	"context"
	"errors"
	"fmt"

	"weedlc/engine"
)

// candidate is a lifecycle document that is not installed.
type candidate struct {
	doc             document
	allowUnfiltered bool
}

// readCandidate reads the rules in a file, or standard input for "-". What
// would be refused of them is an error that names every defect.
func readCandidate(ctx context.Context, a *app, file string, allowUnfiltered bool) (*candidate, error) {
	source := documentOptions{file: file}
	doc, err := source.read(ctx, a, clusterOptions{})
	if err != nil {
		return nil, err
	}
	_, findings := doc.parse(allowUnfiltered)
	var errs []error
	for _, f := range findings {
		if !f.Warning {
			errs = append(errs, errors.New(findingLine(doc.name, f)))
		}
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	return &candidate{doc, allowUnfiltered}, nil
}

// rulesFor are the rules as those of a bucket, which may leave some of them
// without effect: the warnings say so.
func (c *candidate) rulesFor(a *app, b engine.Bucket) []*engine.Rule {
	c.doc.bucket, c.doc.known = b, true
	rules, findings := c.doc.parse(c.allowUnfiltered)
	for _, f := range findings {
		f.Bucket = "" // the bucket has other rules
		a.log.Warn(fmt.Sprintf("%s: %s", c.doc.name, f))
	}
	return rules
}
