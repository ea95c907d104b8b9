package pass

// crew runs functions side by side, on goroutines that are used again: a call
// takes a deep stack, which a new goroutine would grow anew for each.
type crew struct{ idle chan func() }

func newCrew() *crew { return &crew{idle: make(chan func())} }

// do returns at once.
func (c *crew) do(f func()) {
	select {
	case c.idle <- f:
	default:
		go func() {
			f()
			for f := range c.idle {
				f()
			}
		}()
	}
}

// dismiss lets every goroutine end once it has nothing more to do.
func (c *crew) dismiss() { close(c.idle) }
