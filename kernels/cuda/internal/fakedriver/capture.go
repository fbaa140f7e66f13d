//go:build linux

package fakedriver

import (
	"slices"
	"sync"

	"github.com/gokeras/gokeras/kernels/cuda/internal/driver"
)

// capture is a graph that is being made from what is put into streams. It begins in one of them; others join it when
// they wait for an event that was recorded in one that takes part.
type capture struct {
	origin  *stream
	thread  int // that began it, and must end it
	nodes   []node
	invalid driver.Result // why it cannot become a graph any more
}

// node is a piece of work and those that come before it.
type node struct {
	stream *stream
	work   func() error
	after  []int
}

// end adds a piece of work behind what the stream was given; the fake's lock is held.
func (c *capture) add(s *stream, work func() error) {
	c.nodes = append(c.nodes, node{s, work, s.tail})
	s.tail = []int{len(c.nodes) - 1}
}

// unjoined reports whether a piece of work is not before the end of the stream in which the capture began.
func (c *capture) unjoined() bool {
	reached := make([]bool, len(c.nodes))
	open := slices.Clone(c.origin.tail)
	for len(open) > 0 {
		at := open[len(open)-1]
		open = open[:len(open)-1]
		if !reached[at] {
			reached[at] = true
			open = append(open, c.nodes[at].after...)
		}
	}
	return slices.Contains(reached, false)
}

func (f *Fake) BeginCapture(h driver.Handle) driver.Result {
	r := f.enter("cuStreamBeginCapture_v2")
	defer f.mu.Unlock()
	s := f.streams[h]
	switch {
	case r != 0:
		return r
	case s == nil || s.capture != nil:
		return driver.InvalidValue
	}
	s.capture, s.tail = &capture{origin: s, thread: thread()}, nil
	return 0
}

func (f *Fake) EndCapture(h driver.Handle) (driver.Handle, driver.Result) {
	defer f.mu.Unlock()
	r := f.enter("cuStreamEndCapture")
	s := f.streams[h]
	if s == nil || s.capture == nil || s.capture.origin != s {
		return 0, max(r, driver.InvalidValue)
	}
	c := s.capture
	for _, other := range f.streams {
		if other.capture == c {
			other.capture = nil
		}
	}
	switch {
	case r != 0:
		return 0, r
	case c.invalid != 0:
		return 0, c.invalid
	case c.thread != thread():
		return 0, driver.CaptureWrongThread
	case c.unjoined():
		return 0, driver.CaptureUnjoined
	}
	g := f.handle()
	f.graphs[g] = c.nodes
	return g, 0
}

func (f *Fake) Instantiate(g driver.Handle) (driver.Handle, driver.Result) {
	defer f.mu.Unlock()
	if r := f.enter("cuGraphInstantiateWithFlags"); r != 0 {
		return 0, r
	}
	e := f.handle()
	f.ready[e] = f.graphs[g]
	return e, 0
}

// LaunchGraph lets all pieces of work go on at once, each behind those that come before it, as devices do.
func (f *Fake) LaunchGraph(e, on driver.Handle) driver.Result {
	r := f.enter("cuGraphLaunch")
	nodes, ok := f.ready[e]
	f.mu.Unlock()
	if r != 0 {
		return r
	}
	if !ok {
		return driver.InvalidValue
	}
	return f.put(on, func() error { return f.replay(nodes) })
}

func (f *Fake) replay(nodes []node) error {
	over := make([]chan struct{}, len(nodes))
	for i := range over {
		over[i] = make(chan struct{})
	}
	errs := make([]error, len(nodes))
	var all sync.WaitGroup
	for i, n := range nodes {
		all.Go(func() {
			defer close(over[i])
			for _, k := range n.after {
				<-over[k]
			}
			errs[i] = f.do(n.stream, n.work)
		})
	}
	all.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func (f *Fake) DestroyGraph(g driver.Handle) driver.Result {
	defer f.mu.Unlock()
	r := f.enter("cuGraphDestroy")
	delete(f.graphs, g)
	return r
}

func (f *Fake) DestroyExecutable(e driver.Handle) driver.Result {
	defer f.mu.Unlock()
	r := f.enter("cuGraphExecDestroy")
	delete(f.ready, e)
	return r
}
