//go:build linux

package fakedriver

import (
	"slices"
	"sync"

	"github.com/gokeras/gokeras/kernels/cuda/internal/driver"
)

// capture is a graph being made from the work put into streams. It begins in one stream; another stream joins when it
// waits for an event recorded in a stream of the capture.
type capture struct {
	origin  *stream
	thread  int // the thread that began it and must end it
	nodes   []node
	invalid driver.Result // why it can no longer become a graph
	release []func()      // called when the graph is gone, for other libraries
}

// graph is a captured graph. Its executable instances, and their launches, share users.
type graph struct {
	nodes []node
	users *users
}

// users counts the references to a graph, its instances and launches.
type users struct {
	count   int
	release []func()
}

// drop removes a reference. The fake's lock is held.
func (u *users) drop() {
	if u.count--; u.count == 0 {
		for _, f := range u.release {
			go f()
		}
	}
}

// Retain calls release once the graph that is being captured in a stream and all its executable instances are gone, and
// none of its launches is running. It returns false if the stream is not being captured.
func (f *Fake) Retain(h driver.Handle, release func()) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := f.streams[h]
	if s == nil || s.capture == nil {
		return false
	}
	s.capture.release = append(s.capture.release, release)
	return true
}

// node is a piece of work, and the numbers of the nodes that it depends on.
type node struct {
	stream *stream
	work   func() error
	after  []int
}

// add appends a piece of work to a stream's captured part; the fake's lock is held.
func (c *capture) add(s *stream, work func() error) {
	c.nodes = append(c.nodes, node{s, work, s.tail})
	s.tail = []int{len(c.nodes) - 1}
}

// unjoined reports whether some work does not precede the end of the stream in which the capture began.
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
	made := &graph{c.nodes, &users{1, c.release}}
	switch {
	case r != 0:
	case c.invalid != 0:
		r = c.invalid
	case c.thread != thread():
		r = driver.CaptureWrongThread
	case c.unjoined():
		r = driver.CaptureUnjoined
	}
	if r != 0 {
		made.users.drop()
		return 0, r
	}
	g := f.handle()
	f.graphs[g] = made
	return g, 0
}

func (f *Fake) Instantiate(g driver.Handle) (driver.Handle, driver.Result) {
	defer f.mu.Unlock()
	if r := f.enter("cuGraphInstantiateWithFlags"); r != 0 {
		return 0, r
	}
	made := f.graphs[g]
	if made == nil {
		return 0, driver.InvalidValue
	}
	e := f.handle()
	f.ready[e] = made
	made.users.count++
	return e, 0
}

// LaunchGraph runs the nodes concurrently, each after those that it depends on, as devices do.
func (f *Fake) LaunchGraph(e, on driver.Handle) driver.Result {
	r := f.enter("cuGraphLaunch")
	g, ok := f.ready[e]
	if ok && r == 0 {
		g.users.count++
	}
	f.mu.Unlock()
	if r != 0 {
		return r
	}
	if !ok {
		return driver.InvalidValue
	}
	over := func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		g.users.drop()
	}
	r = f.put(on, func() error {
		defer over()
		return f.replay(g.nodes)
	})
	if r != 0 {
		over()
	}
	return r
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
	if made := f.graphs[g]; made != nil {
		made.users.drop()
	}
	delete(f.graphs, g)
	return r
}

func (f *Fake) DestroyExecutable(e driver.Handle) driver.Result {
	defer f.mu.Unlock()
	r := f.enter("cuGraphExecDestroy")
	if made := f.ready[e]; made != nil {
		made.users.drop()
	}
	delete(f.ready, e)
	return r
}
