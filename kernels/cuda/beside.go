//go:build linux

package cuda

import (
	"fmt"

	"github.com/gokeras/gokeras/kernels/cuda/internal/driver"
	"github.com/gokeras/gokeras/kernels/cuda/internal/lower"
	"github.com/gokeras/gokeras/kernels/ir"
)

// A collective whose results are not needed at once runs in a second stream of the device, in parallel with kernels in
// the first. It begins after everything that is already in the first stream, and an event says when it is over. It uses
// a copy of the failure flag, since kernels may set the flag meanwhile. The outcome of the others is combined with the
// flag when the first stream waits for the event.

// aside is what a session needs for such collectives.
type aside struct {
	done  []driver.Handle // by number: recorded at the end of a collective
	flags driver.Address  // by number: the copy, and the outcome
	bytes int64           // of them
	merge *session        // combines an outcome and the flag
}

// asideSlot is the room for the flags of one collective.
const asideSlot = 2 * flagSlot

// setAside makes what a session needs; the caller holds building.
func (g *group) setAside(replica int, s *session) error {
	n := s.executable.plan.Beside
	if n == 0 {
		return nil
	}
	d := s.device
	merge, err := g.session(replica, "outcome", func() (*ir.Program, error) { return pickFlag(2) })
	if err != nil {
		return err
	}
	if s.aside != nil {
		s.aside.merge = merge
		return nil
	}
	a := &aside{merge: merge, bytes: int64(n * asideSlot)}
	if a.flags, err = d.alloc(a.bytes, "failure flags of collectives"); err != nil {
		return err
	}
	err = d.enqueue(func() error {
		if d.beside == 0 {
			var r driver.Result
			if d.beside, r = d.API.NewStream(); r != driver.Success {
				return d.Err(r, "cuStreamCreateWithPriority")
			}
		}
		for range n {
			e, r := d.API.NewEvent()
			if r != driver.Success {
				return d.Err(r, "cuEventCreate")
			}
			a.done = append(a.done, e)
		}
		return nil
	})
	s.aside = a
	if err != nil {
		a.close(d)
		s.aside = nil
	}
	return err
}

// close releases what a session has.
func (a *aside) close(d *device) {
	if a == nil {
		return
	}
	d.free(a.flags, a.bytes)
	d.enqueue(func() error {
		for _, e := range a.done {
			d.API.DestroyEvent(e)
		}
		return nil
	})
}

// stream is the stream for the session's kernels.
func (s *session) stream() driver.Handle {
	if s.lane != 0 {
		return s.lane
	}
	return s.device.Stream
}

// synchronize waits for the device's streams; the caller has the context.
func (d *device) synchronize() {
	d.API.SynchronizeStream(d.Stream)
	if d.beside != 0 {
		d.API.SynchronizeStream(d.beside)
	}
}

// outcomeOf is where the failure flag of all replicas goes.
func (g *group) outcomeOf(replica int) driver.Address {
	s := g.parts[replica].session
	if n := g.steps[replica].Number; n > 0 {
		return s.aside.flags + driver.Address((n-1)*asideSlot+flagSlot)
	}
	return s.flag
}

// depart chooses the stream of a replica's collective, which comes after its kernels so far.
func (g *group) depart(replica int, d *device, _ *combining) error {
	s, n := g.parts[replica].session, g.steps[replica].Number
	g.lanes[replica], g.flags[replica] = d.Stream, s.flag
	if n == 0 {
		return nil
	}
	g.lanes[replica], g.flags[replica] = d.beside, s.aside.flags+driver.Address((n-1)*asideSlot)
	if err := d.Err(d.API.CopyOnDevice(g.flags[replica], s.flag, lower.FlagBytes, d.Stream), "cuMemcpyDtoDAsync_v2"); err != nil {
		return err
	}
	if err := d.Err(d.API.RecordEvent(g.events[replica], d.Stream), "cuEventRecord"); err != nil {
		return err
	}
	return d.Err(d.API.WaitEvent(d.beside, g.events[replica]), "cuStreamWaitEvent")
}

// done marks the end of a replica's collective.
func (g *group) done(replica int, d *device, _ *combining) error {
	n := g.steps[replica].Number
	if n == 0 {
		return nil
	}
	return d.Err(d.API.RecordEvent(g.parts[replica].session.aside.done[n-1], d.beside), "cuEventRecord")
}

// await makes later kernels wait for a collective, and for those before it. Values that meet through host memory are
// already there.
func (s *session) await(step *lower.Step) error {
	if s.met == nil {
		return nil
	}
	d, a := s.device, s.aside
	if err := d.Err(d.API.WaitEvent(d.Stream, a.done[step.Number-1]), "cuStreamWaitEvent"); err != nil {
		return err
	}
	a.merge.begin(d.Stream)
	a.merge.inputs = append(a.merge.inputs, a.flags+driver.Address((step.Number-1)*asideSlot+flagSlot), s.flag)
	if err := a.merge.small(s.flag); err != nil {
		return fmt.Errorf("%s: %w", step.Scope, err)
	}
	return nil
}
