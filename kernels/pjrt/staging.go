//go:build linux

package pjrt

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/pjrt/internal/capi"
)

var _ kernels.Stager = (*buffer)(nil)

// stages is the host memory of a buffer that is written for each step. The plugin reads it in place: a plugin for CPUs
// during the whole step, others until they have copied it.
type stages struct {
	client *capi.Client
	typ    ir.Type

	mu     sync.Mutex
	idle   []*stage
	sent   []*stage // that the plugin has, the oldest first
	count  int
	closed bool
}

// stage is memory of a buffer. It must not refer to the buffer, or the garbage collector would not find that.
type stage struct {
	of   *stages
	lent *capi.Lent
	held bool // by the caller of Stage
}

// A buffer has up to fewStages, and up to manyStages if they take no more than stageBytes together. If the plugin reads
// in place during a step, each launch in progress has one.
const (
	fewStages  = 4
	manyStages = 40
	stageBytes = 64 << 20
)

func (s *stage) Bytes() []byte { return s.lent.Bytes() }

// Drop makes the memory available again.
func (s *stage) Drop() {
	s.of.mu.Lock()
	defer s.of.mu.Unlock()
	if s.held {
		s.held = false
		s.of.idle = append(s.of.idle, s)
	}
}

// Stage returns memory that the plugin no longer uses, or new memory within the limits. It returns none if the device
// is so far behind that it uses all of it.
func (b *buffer) Stage() kernels.Staged {
	if b.typ.Bytes() == 0 {
		return nil
	}
	if b.stages.Load() == nil {
		b.stages.CompareAndSwap(nil, &stages{client: b.client, typ: b.typ})
	}
	s := b.stages.Load().take()
	if s == nil {
		return nil
	}
	return s
}

// noStages belongs to a buffer that was freed.
var noStages = &stages{closed: true}

func (s *stages) take() *stage {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.collect() != nil {
		return nil
	}
	if n := len(s.idle); n > 0 {
		free := s.idle[n-1]
		s.idle = s.idle[:n-1]
		free.held = true
		return free
	}
	size := s.typ.Bytes()
	if s.count >= fewStages && (s.count >= manyStages || (s.count+1)*size > stageBytes) {
		return nil
	}
	s.count++
	return &stage{of: s, lent: s.client.NewLent(elementTypes[s.typ.DType], s.typ.Shape, size), held: true}
}

// collect finds the memory that the plugin no longer uses. The caller holds mu.
func (s *stages) collect() error {
	n, done := 0, true
	var err error
	for n < len(s.sent) {
		if done, err = s.sent[n].lent.Done(); !done || err != nil {
			break
		}
		s.idle = append(s.idle, s.sent[n])
		n++
	}
	s.sent = slices.Delete(s.sent, 0, n)
	return err
}

// WriteStaged lets the plugin read the memory.
func (b *buffer) WriteStaged(from kernels.Staged) error {
	s, ok := from.(*stage)
	b.mu.Lock()
	defer b.mu.Unlock()
	if !ok || s.of != b.stages.Load() {
		return fmt.Errorf("pjrt: writing a buffer %v on %v from memory that was not staged for it", b.typ, b.device)
	}
	if !s.held {
		return fmt.Errorf("pjrt: writing a buffer %v on %v from memory that was written or dropped already", b.typ, b.device)
	}
	b.settle()
	handle, err := s.lent.Send(b.place, b.memory)
	if err != nil {
		err = b.backend.again(err, func() (err error) { handle, err = s.lent.Send(b.place, b.memory); return err })
	}
	if err != nil {
		s.Drop()
		return fmt.Errorf("pjrt: writing %v to %v: %w", b.typ, b.device, err)
	}
	s.of.mu.Lock()
	s.held = false
	s.of.sent = append(s.of.sent, s)
	s.of.mu.Unlock()
	o := newObject(b.client, handle)
	o.memory, o.lent = b.memory, true
	return b.replace(o)
}

// close gives up the memory. The backend keeps what the plugin still uses.
func (s *stages) close(b *Backend) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	_ = s.collect()
	b.lent.keep(s.sent)
	s.idle, s.sent = nil, nil
}

// lent is memory of freed buffers that the plugin still uses.
type lent struct {
	mu  sync.Mutex
	all []*stage
}

func (l *lent) keep(sent []*stage) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = slices.DeleteFunc(append(l.all, sent...), func(s *stage) bool {
		done, err := s.lent.Done()
		return done && err == nil
	})
}

// close drops the memory that the plugin still uses, because its connection ends.
func (l *lent) close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	var err error
	for _, s := range l.all {
		err = errors.Join(err, s.lent.Forget())
	}
	return err
}
