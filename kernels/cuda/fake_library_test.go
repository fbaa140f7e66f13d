//go:build linux

package cuda

import (
	"fmt"
	"sync"

	"github.com/gokeras/gokeras/kernels/cuda/internal/fakedriver"
)

// fakeLibrary is what the fakes of NVIDIA's libraries have in common.
type fakeLibrary struct {
	driver *fakedriver.Fake

	mu     sync.Mutex
	alive  int
	calls  map[string]int
	fail   string
	failAt int
	spoils bool // a call that fails makes the capture fail too
	wrong  bool // results are
}

func newFakeLibrary(f *fakedriver.Fake) *fakeLibrary {
	return &fakeLibrary{driver: f, calls: map[string]int{}}
}

// Fail makes the n-th call of a name from now on fail, n from 1.
func (l *fakeLibrary) Fail(call string, n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.fail, l.failAt = call, l.calls[call]+n
}

// Calls returns how often a call was made.
func (l *fakeLibrary) Calls(call string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.calls[call]
}

// Alive is the number of objects that nobody has given back.
func (l *fakeLibrary) Alive() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.alive
}

func (l *fakeLibrary) enter(call string, alive int) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.calls[call]++; call == l.fail && l.calls[call] == l.failAt {
		l.fail = ""
		return fmt.Errorf("%s: an internal error", call)
	}
	if l.driver.Here() < 0 {
		return fmt.Errorf("%s: no context is current", call)
	}
	l.alive += alive
	return nil
}
