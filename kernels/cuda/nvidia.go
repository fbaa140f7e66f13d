//go:build linux

package cuda

import (
	"errors"
	"fmt"
	"os"
	"sync"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/cuda/internal/driver"
	"github.com/gokeras/gokeras/kernels/cuda/internal/libraries"
	"github.com/gokeras/gokeras/kernels/cuda/internal/lower"
)

// opened is a library of NVIDIA's on one device.
type opened[A interface {
	comparable
	Close() error
}] struct {
	mu  sync.Mutex
	api A
	err error // why it is not used
	own string
}

// warn says once for each device that a library was found but is not used. Tests replace it.
var warn = func(text string) { fmt.Fprintln(os.Stderr, text) }

// open returns the library; the caller has the device's context.
func (l *opened[A]) open(find func() libraries.Found, load func(path string) (A, error), d *device) (A, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if none := *new(A); l.api == none && l.err == nil {
		found := find()
		l.own = found.Name
		if found.Path == "" || found.Problem != "" {
			l.err = errors.New(found.String())
			return none, l.err
		}
		api, err := load(found.Path)
		if err != nil {
			l.refused(d, err)
			return none, l.err
		}
		l.api = api
	}
	return l.api, l.err
}

// used reports whether the library is in use.
func (l *opened[A]) used() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.api != *new(A) && l.err == nil
}

// refuse stops using the library.
func (l *opened[A]) refuse(d *device, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err == nil {
		l.refused(d, err)
	}
}

func (l *opened[A]) refused(d *device, err error) {
	l.err = err
	warn(fmt.Sprintf("cuda: %v goes on without %s: %v", d.name, l.own, err))
}

// close releases the library; the caller has the device's context.
func (l *opened[A]) close() error {
	if l.api == *new(A) {
		return nil
	}
	return l.api.Close()
}

// sought is a library of the machine that is looked for once.
type sought struct {
	once  sync.Once
	found libraries.Found
}

func (b *backend) finds(l *sought, name string, find func(driver int) libraries.Found) libraries.Found {
	l.once.Do(func() {
		if version, r := b.api.Version(); r == driver.Success && find != nil {
			l.found = find(version)
		}
		l.found.Name = name
	})
	return l.found
}

func (b *backend) findsBLAS() libraries.Found { return b.finds(&b.soughtBLAS, lower.BLAS, b.findBLAS) }
func (b *backend) findsDNN() libraries.Found  { return b.finds(&b.soughtDNN, lower.DNN, b.findDNN) }

// libraryPicker returns the function that decides which products and convolutions of programs with these options
// libraries compute; nil: none.
func (b *backend) libraryPicker(name kernels.Device, o lower.Options) func(lower.Question) string {
	if b.pickLibrary != nil {
		return b.pickLibrary
	}
	if b.findBLAS == nil && b.findDNN == nil || b.tuning == nil || o.Replicas > 1 || os.Getenv(tuningVariable) == "off" {
		return nil
	}
	return func(q lower.Question) string { return b.tuning.library(b, name, o, q) }
}
