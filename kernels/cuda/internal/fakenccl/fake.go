//go:build linux

package fakenccl

import (
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gokeras/gokeras/kernels/cuda/internal/driver"
	"github.com/gokeras/gokeras/kernels/cuda/internal/fakedriver"
	"github.com/gokeras/gokeras/kernels/cuda/internal/nccl"
)

// Library is one process's libnccl. It implements [nccl.API].
type Library struct {
	world  place
	driver *fakedriver.Fake
	// Met, if not nil, is called by a stream that is ready for a collective of this name, before the stream waits for
	// the other ranks.
	Met func(call string)

	mu      sync.Mutex
	version int
	comms   map[nccl.Comm]*comm
	next    nccl.Comm
	groups  map[int]*pending // by thread
	calls   map[string]int
	fail    string
	failAt  int
	last    string
	fault   error
	deaf    atomic.Bool // its ranks no longer answer
	refuse  bool        // calls in streams that are being captured fail
}

// comm is one rank.
type comm struct {
	library *Library
	id      nccl.ID
	ranks   int
	rank    int
	device  int
	step    int           // collectives so far, in stream order
	over    chan struct{} // closed by an abort

	// Guarded by the library's lock.
	broken    nccl.Result
	finalized bool
	busy      int // how many more times AsyncError reports that a call is in progress
	graphs    int // number of graphs that use it
}

// pending is a thread's open group.
type pending struct {
	depth int
	work  []func() nccl.Result
	comms map[*comm]bool
}

// New makes the libnccl of a process that uses the driver's devices.
func New(w *World, f *fakedriver.Fake) *Library { return newLibrary(w, f) }

func newLibrary(w place, f *fakedriver.Fake) *Library {
	return &Library{world: w, driver: f, version: 22907, comms: map[nccl.Comm]*comm{}, next: 7000, groups: map[int]*pending{}, calls: map[string]int{}}
}

// SetVersion sets the version that the library reports.
func (l *Library) SetVersion(v int) { l.version = v }

// Fail makes the n-th call of a name from now on fail, counting from 1.
func (l *Library) Fail(call string, n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.fail, l.failAt = call, l.calls[call]+n
}

// Calls returns how many times each call was made.
func (l *Library) Calls() map[string]int {
	l.mu.Lock()
	defer l.mu.Unlock()
	calls := map[string]int{}
	for k, v := range l.calls {
		calls[k] = v
	}
	return calls
}

// Die stops the process's ranks: others wait for them in vain.
func (l *Library) Die() { l.deaf.Store(true) }

// RefuseCapture makes calls fail in streams that are being captured, as in old libraries.
func (l *Library) RefuseCapture(refuse bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.refuse = refuse
}

// Break makes the process's communicators report an error, as the library does when a connection is lost.
func (l *Library) Break(r nccl.Result) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range l.comms {
		c.broken = r
	}
}

// Fault returns the first misuse of the library.
func (l *Library) Fault() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.fault
}

// Alive is the number of communicators that were not destroyed.
func (l *Library) Alive() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.comms)
}

// enter counts a call and returns with the lock held.
func (l *Library) enter(call string) nccl.Result {
	l.mu.Lock()
	l.calls[call]++
	if call == l.fail && l.calls[call] == l.failAt {
		l.fail = ""
		l.last = call + " was asked to fail"
		return nccl.InternalError
	}
	return nccl.Success
}

// misused records a fault; the lock is held.
func (l *Library) misused(format string, args ...any) nccl.Result {
	err := fmt.Errorf("fakenccl: "+format, args...)
	l.last = err.Error()
	l.fault = errors.Join(l.fault, err)
	return nccl.InvalidUsage
}

func (l *Library) Version() (int, nccl.Result) {
	defer l.mu.Unlock()
	r := l.enter("ncclGetVersion")
	return l.version, r
}

func (l *Library) UniqueID() (nccl.ID, nccl.Result) {
	defer l.mu.Unlock()
	if r := l.enter("ncclGetUniqueId"); r != 0 {
		return nccl.ID{}, r
	}
	id := nccl.ID{127: 1}
	binary.LittleEndian.PutUint32(id[:], l.world.draw())
	return id, 0
}

func (l *Library) InitRank(to *nccl.Comm, ranks int, id nccl.ID, rank int) nccl.Result {
	defer l.mu.Unlock()
	if r := l.enter("ncclCommInitRankConfig"); r != 0 {
		return r
	}
	if id == (nccl.ID{}) || rank < 0 || rank >= ranks {
		return l.misused("rank %d of %d with id %x", rank, ranks, id[:4])
	}
	if wrong := l.world.join(id, ranks); wrong != "" {
		return l.misused("%s", wrong)
	}
	l.next++
	l.comms[l.next] = &comm{library: l, id: id, ranks: ranks, rank: rank, device: l.driver.Here(), over: make(chan struct{})}
	*to = l.next
	return nccl.InProgress
}

func (l *Library) AsyncError(h nccl.Comm) (state, r nccl.Result) {
	defer l.mu.Unlock()
	if r := l.enter("ncclCommGetAsyncError"); r != 0 {
		return 0, r
	}
	c := l.comms[h]
	if c == nil {
		return 0, l.misused("ncclCommGetAsyncError of a communicator that was given back")
	}
	return c.state(true), 0
}

// state returns the outcome of the calls so far; the library's lock is held.
func (c *comm) state(ask bool) nccl.Result {
	if c.broken != 0 {
		return c.broken
	}
	joined, finalized := c.library.world.counts(c.id)
	switch {
	case joined < c.ranks, c.finalized && (finalized < c.ranks || c.graphs > 0):
		return nccl.InProgress
	case c.busy > 0:
		if ask {
			c.busy--
		}
		return nccl.InProgress
	}
	return nccl.Success
}

func (l *Library) GroupStart() nccl.Result {
	defer l.mu.Unlock()
	if r := l.enter("ncclGroupStart"); r != 0 {
		return r
	}
	thread := unix.Gettid()
	if l.groups[thread] == nil {
		l.groups[thread] = &pending{comms: map[*comm]bool{}}
	}
	l.groups[thread].depth++
	return 0
}

func (l *Library) GroupEnd() nccl.Result {
	defer l.mu.Unlock()
	r := l.enter("ncclGroupEnd")
	thread := unix.Gettid()
	p := l.groups[thread]
	if p == nil {
		return l.misused("ncclGroupEnd on a thread without a group")
	}
	if p.depth--; p.depth > 0 {
		return r
	}
	delete(l.groups, thread)
	if r != 0 {
		return r
	}
	for _, f := range p.work {
		if r := f(); r != 0 {
			return r
		}
	}
	for c := range p.comms {
		c.busy = c.rank % 3
	}
	return nccl.InProgress
}

func (l *Library) Finalize(h nccl.Comm) nccl.Result {
	defer l.mu.Unlock()
	if r := l.enter("ncclCommFinalize"); r != 0 {
		return r
	}
	c := l.comms[h]
	if c == nil || c.finalized {
		return l.misused("ncclCommFinalize of a communicator that was given back")
	}
	c.finalized = true
	l.world.finalize(c.id)
	return nccl.InProgress
}

func (l *Library) Destroy(h nccl.Comm) nccl.Result {
	defer l.mu.Unlock()
	r := l.enter("ncclCommDestroy")
	c := l.comms[h]
	if c == nil {
		return l.misused("ncclCommDestroy of a communicator that was given back")
	}
	if !c.finalized || c.state(false) == nccl.InProgress {
		return l.misused("ncclCommDestroy of a communicator that was not finalized")
	}
	delete(l.comms, h)
	l.outlive(c, "ncclCommDestroy")
	return r
}

// graphPatience is how long a communicator waits for graphs before that counts as a fault: the library waits forever.
const graphPatience = 5 * time.Second

// outlive waits until no graph uses a communicator, as the library does from 2.26 on. The lock is held, but released
// while waiting.
func (l *Library) outlive(c *comm, call string) {
	for end := time.Now().Add(graphPatience); c.graphs > 0; {
		if time.Now().After(end) {
			l.misused("%s of a communicator that graphs still refer to: it would never return", call)
			return
		}
		l.mu.Unlock()
		time.Sleep(100 * time.Microsecond)
		l.mu.Lock()
	}
}

// Abort always frees the communicator, even when it is made to fail.
func (l *Library) Abort(h nccl.Comm) nccl.Result {
	defer l.mu.Unlock()
	r := l.enter("ncclCommAbort")
	c := l.comms[h]
	if c == nil {
		return l.misused("ncclCommAbort of a communicator that was given back")
	}
	delete(l.comms, h)
	close(c.over)
	l.world.wake()
	l.outlive(c, "ncclCommAbort")
	return r
}

func (l *Library) Describe(r nccl.Result) string {
	return map[nccl.Result]string{nccl.Success: "no error", nccl.InternalError: "internal error", nccl.InvalidUsage: "invalid usage", nccl.RemoteError: "remote process exited or there was a network error"}[r]
}

func (l *Library) LastError() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.last
}

var _ nccl.API = (*Library)(nil)
var _ driver.API = (*fakedriver.Fake)(nil)
