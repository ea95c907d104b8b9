package pass

import (
	"strings"
	"sync"

	"weedlc/engine"
)

// place is where a traversal is, and what of it is not settled: a walk that is
// cut goes on from the first path that may not have been dealt with.
type place struct {
	// levels are the folders that the traversal is in, outermost first. Only
	// the traversal itself touches them.
	levels []*level

	mu sync.Mutex
	// listed is where the traversal was when it last took up a page.
	listed string
	// open are the places of keys whose deletes are not settled.
	open map[int]string
	next int
}

// level is one folder: the name that the listing is at, and the entries that
// wait for their version folders.
type level struct {
	dir, name string
	waiting   map[string]engine.Entry
}

// within does something in a folder. After an error the place stays in it.
func (p *place) within(dir string, fn func(*level) error) error {
	l := &level{dir: dir, waiting: map[string]engine.Entry{}}
	p.levels = append(p.levels, l)
	if err := fn(l); err != nil {
		return err
	}
	p.levels = p.levels[:len(p.levels)-1]
	return nil
}

// here is the first path that has not been visited for good. Empty is the
// beginning.
func (p *place) here() string {
	if len(p.levels) == 0 {
		return ""
	}
	deepest := p.levels[len(p.levels)-1]
	first := deepest.dir + deepest.name
	for _, l := range p.levels {
		for name := range l.waiting {
			if walkedBefore(l.dir+name, first) {
				first = l.dir + name
			}
		}
	}
	return strings.TrimSuffix(first, "/")
}

// mark notes where the traversal is.
func (p *place) mark() {
	at := p.here()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.listed = at
}

// reached is the first path known not to be dealt with, while the traversal
// goes on. Empty is the beginning.
func (p *place) reached() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	from := p.listed
	for _, at := range p.open {
		if walkedBefore(at, from) {
			from = at
		}
	}
	return from
}

// begin notes that deletes are under way for what was just visited.
func (p *place) begin() (id int) {
	at := p.here()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.open == nil {
		p.open = map[int]string{}
	}
	p.next++
	p.open[p.next] = at
	return p.next
}

// end notes that they are settled.
func (p *place) end(id int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.open, id)
}

// rest is where a walk goes on that was cut: at the place of the traversal,
// unless it came to its end, or at the first key whose deletes are not settled.
// Done is true when nothing is left.
func (p *place) rest(ended bool) (from string, done bool) {
	done = ended
	if !ended {
		from = p.here()
	}
	for _, at := range p.open {
		if done || walkedBefore(at, from) {
			from, done = at, false
		}
	}
	return from, done
}

// walkedBefore orders paths as a walk meets them: uploads first, then folder by
// folder in the order of the names. The empty path is the beginning.
func walkedBefore(a, b string) bool {
	return walkOrder(a) < walkOrder(b)
}

// walkOrder is a text whose plain order is that of the traversal.
func walkOrder(path string) string {
	if path == "" {
		return ""
	}
	first := "2"
	if strings.HasPrefix(path+"/", uploadsFolder+"/") {
		first = "1"
	}
	return first + strings.ReplaceAll(path, "/", "\x00")
}
