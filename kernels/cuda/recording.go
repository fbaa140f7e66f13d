//go:build linux

package cuda

import (
	"errors"
	"runtime"
	"slices"

	"github.com/gokeras/gokeras/kernels/cuda/internal/driver"
	"github.com/gokeras/gokeras/kernels/cuda/internal/nccl"
)

// A step that all replicas repeat is captured as one graph, with its collectives: the capture begins in the stream of
// the first device, the other streams join it through events, and all come back to the first at the end. Later steps
// are one call of the driver.
//
// NCCL requires that an operation is captured by all ranks or by none, and replayed by all. That holds here: all
// processes launch the same programs in the same order, and capture a step when it comes for the third time. NVIDIA
// advises against captures if one process, or even one thread, serves several devices: the launch of one device's graph
// may wait for another device's graph, and never return. Here one graph, and one launch, covers all devices of a
// process, so no launch comes before another; but nobody guarantees that it does not wait. So if NCCL serves several
// devices of any process, steps are captured only on request ([kernels.CommunicatorOptions].Captured). Kernels of our
// own wait for each other through events, which become edges of the graph.

// recording is a step of all replicas as a graph.
type recording struct {
	sessions []uint64 // by replica; numbers, so that a session can become garbage
	flags    []driver.Address
	memory   int           // version of the group's memory that the graph uses; see [group.moved]
	graph    driver.Handle // 0: capturing was tried and is not possible
}

// fits reports whether the graph is for what the replicas bring.
func (r *recording) fits(g *group) bool {
	if r.memory != g.moved {
		return false
	}
	for i := range g.parts {
		p := &g.parts[i]
		if r.sessions[i] != p.session.id || r.flags[i] != p.queue.flag || p.session.repeated == 0 {
			return false
		}
	}
	return true
}

// recorded returns the graph for what the replicas bring, or nil if the kernels have to be launched one by one. If the
// step was repeated often enough, it captures it. It returns the replica that failed.
func (g *group) recorded() (*recording, int, error) {
	key := g.parts[0].session.id
	r := g.recordings[key]
	if r != nil && !r.fits(g) {
		delete(g.recordings, key)
		if err := g.discard(r); err != nil {
			return nil, 0, err
		}
		r = nil
	}
	if r != nil {
		return r, 0, nil
	}
	if g.link != nil && !g.link.carrier.records() {
		return nil, 0, nil
	}
	for i := range g.parts {
		s := g.parts[i].session
		if s.repeated < captureAfter || !s.executable.plan.Fixed {
			return nil, 0, nil
		}
	}
	r = &recording{memory: g.moved}
	for i := range g.parts {
		r.sessions, r.flags = append(r.sessions, g.parts[i].session.id), append(r.flags, g.parts[i].queue.flag)
	}
	if i, err := g.capture(r); err != nil {
		return nil, i, err
	}
	g.recordings[key] = r
	return r, 0, nil
}

// capture makes the graph. If the library refuses to take part, no more graphs are made.
func (g *group) capture(r *recording) (replica int, err error) {
	runtime.LockOSThread() // the thread that begins a capture must end it
	defer runtime.UnlockOSThread()
	d := g.devices[0]
	if err := d.inside(func() driver.Result { return d.API.BeginCapture(d.Stream) }, "cuStreamBeginCapture_v2"); err != nil {
		return 0, err
	}
	replica, err = g.scatter()
	if err == nil {
		replica, err = g.enlist()
	}
	if err == nil {
		replica, err = g.gather()
	}
	made, ended := d.endCapture() // also after a failure
	if err == nil {
		replica, err = 0, ended
	}
	if err == nil {
		err = d.inside(func() (result driver.Result) {
			r.graph, result = d.API.Instantiate(made)
			return result
		}, "cuGraphInstantiateWithFlags")
	}
	if made != 0 {
		err = errors.Join(err, d.inside(func() driver.Result { return d.API.DestroyGraph(made) }, "cuGraphDestroy"))
	}
	var refused *nccl.Error
	switch {
	case err == nil:
		return 0, nil
	case errors.As(err, &refused) && refused.Result == nccl.InvalidUsage && r.graph == 0:
		return 0, nil
	}
	return replica, errors.Join(err, g.discard(r))
}

// endCapture takes the streams out of a capture, during which no other launch could use them.
func (d *device) endCapture() (made driver.Handle, err error) {
	if err = d.Enter(); err != nil {
		if again := d.Enter(); again != nil {
			return 0, errors.Join(err, again)
		}
	}
	defer d.Leave()
	made, r := d.API.EndCapture(d.Stream)
	return made, errors.Join(err, d.Err(r, "cuStreamEndCapture"))
}

// scatter makes the streams of the other devices wait for that of the first.
func (g *group) scatter() (int, error) {
	first := g.devices[0]
	if err := first.inside(func() driver.Result { return first.API.RecordEvent(g.events[0], first.Stream) }, "cuEventRecord"); err != nil {
		return 0, err
	}
	for i, d := range g.devices[1:] {
		if err := d.inside(func() driver.Result { return d.API.WaitEvent(d.Stream, g.events[0]) }, "cuStreamWaitEvent"); err != nil {
			return i + 1, err
		}
	}
	return 0, nil
}

// gather makes the stream of the first device wait for those of the others.
func (g *group) gather() (int, error) {
	first := g.devices[0]
	for i, d := range g.devices[1:] {
		if err := d.inside(func() driver.Result { return d.API.RecordEvent(g.events[i+1], d.Stream) }, "cuEventRecord"); err != nil {
			return i + 1, err
		}
		if err := first.inside(func() driver.Result { return first.API.WaitEvent(first.Stream, g.events[i+1]) }, "cuStreamWaitEvent"); err != nil {
			return i + 1, err
		}
	}
	return 0, nil
}

// replay launches a graph after everything that is already in the streams.
func (g *group) replay(r *recording) (int, error) {
	if i, err := g.gather(); err != nil {
		return i, err
	}
	d := g.devices[0]
	if err := d.inside(func() driver.Result { return d.API.LaunchGraph(r.graph, d.Stream) }, "cuGraphLaunch"); err != nil {
		return 0, err
	}
	return g.scatter()
}

// discard releases a graph; the order of the devices is held.
func (g *group) discard(r *recording) error {
	if r.graph == 0 {
		return nil
	}
	d := g.devices[0]
	return d.inside(func() driver.Result { return d.API.DestroyExecutable(r.graph) }, "cuGraphExecDestroy")
}

// forget drops the graphs of a session that is closed; nil: all graphs.
func (g *group) forget(s *session) {
	g.mu.Lock()
	var old []*recording
	for key, r := range g.recordings {
		if s == nil || slices.Contains(r.sessions, s.id) {
			old = append(old, r)
			delete(g.recordings, key)
		}
	}
	g.mu.Unlock()
	for _, r := range old {
		g.devices[0].enqueue(func() error { return g.discard(r) })
	}
}
