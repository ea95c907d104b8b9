//go:build !unix

package weedtest

import (
	"errors"
	"os"
	"syscall"
)

func processAttributes() *syscall.SysProcAttr { return nil }

func freeze(*os.Process) error { return errors.ErrUnsupported }

func thaw(*os.Process) error { return errors.ErrUnsupported }

// lockFile refuses: no cluster starts here.
func lockFile(*os.File) error { return errors.ErrUnsupported }
