package commands

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/pprof"

	"github.com/spf13/pflag"
)

// profileOptions are the hidden flags that write profiles of the process, for
// go tool pprof.
type profileOptions struct {
	cpu, memory string
	// running takes the CPU profile; nil while there is none.
	running *os.File
}

func (o *profileOptions) AddFlags(flags *pflag.FlagSet) {
	flags.StringVar(&o.cpu, "cpuprofile", "", "write a CPU profile to this `file`")
	flags.StringVar(&o.memory, "memprofile", "", "write a profile of the memory in use, and of all that was allocated, to this `file`")
	for _, name := range []string{"cpuprofile", "memprofile"} {
		if err := flags.MarkHidden(name); err != nil {
			panic(err)
		}
	}
}

func (o *profileOptions) start() error {
	if o.cpu == "" {
		return nil
	}
	f, err := os.Create(o.cpu)
	if err != nil {
		return fmt.Errorf("--cpuprofile: %w", err)
	}
	if err := pprof.StartCPUProfile(f); err != nil {
		return errors.Join(fmt.Errorf("--cpuprofile: %w", err), f.Close())
	}
	o.running = f
	return nil
}

// finish writes what was asked for. It is called once, however the command
// ended.
func (o *profileOptions) finish() error {
	var errs []error
	if o.running != nil {
		pprof.StopCPUProfile()
		if err := o.running.Close(); err != nil {
			errs = append(errs, fmt.Errorf("--cpuprofile: %w", err))
		}
	}
	if o.memory != "" {
		if err := writeHeap(o.memory); err != nil {
			errs = append(errs, fmt.Errorf("--memprofile: %w", err))
		}
	}
	return errors.Join(errs...)
}

func writeHeap(file string) error {
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	runtime.GC() // the profile shows the heap as of the last collection
	return errors.Join(pprof.WriteHeapProfile(f), f.Close())
}
