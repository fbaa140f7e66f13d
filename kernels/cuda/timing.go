//go:build linux

package cuda

import (
	"context"
	"errors"
	"time"

	"github.com/gokeras/gokeras/internal/tracing"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/cuda/internal/driver"
	"github.com/gokeras/gokeras/kernels/cuda/internal/lower"
)

// timing times the kernels of a launch and its collectives, each between two events. The launch is then not a graph,
// and the host waits for its end.
type timing struct {
	meter    kernels.Meter
	recorder *tracing.Recorder
	spans    []timedStep
}

// timedStep is a kernel or a collective.
type timedStep struct {
	step       *lower.Step
	begin, end driver.Handle
	beside     bool // in the second stream
}

// timingOf returns the timing of a launch under the context; nil if nobody asks for it.
func timingOf(ctx context.Context) *timing {
	meter, recorder := kernels.MeterOf(ctx), tracing.Active(ctx)
	if meter == nil && recorder == nil {
		return nil
	}
	return &timing{meter: meter, recorder: recorder}
}

// start marks in a stream where a step begins; the caller has the context.
func (t *timing) start(d *device, step *lower.Step, stream driver.Handle) error {
	e, err := t.mark(d, stream)
	if err == nil {
		t.spans = append(t.spans, timedStep{step: step, begin: e, beside: stream != d.Stream})
	}
	return err
}

// stop marks the end of the step that was started last.
func (t *timing) stop(d *device, stream driver.Handle) (err error) {
	t.spans[len(t.spans)-1].end, err = t.mark(d, stream)
	return err
}

func (t *timing) mark(d *device, stream driver.Handle) (driver.Handle, error) {
	e, r := d.API.NewTimedEvent()
	if r != driver.Success {
		return 0, d.Err(r, "cuEventCreate")
	}
	if err := d.Err(d.API.RecordEvent(e, stream), "cuEventRecord"); err != nil {
		d.API.DestroyEvent(e)
		return 0, err
	}
	return e, nil
}

// end waits for the launch and reports what its steps took; the caller has the context.
func (t *timing) end(s *session) error {
	d := s.device
	defer t.drop(d)
	for _, stream := range []driver.Handle{d.Stream, d.beside} {
		if stream == d.beside && stream == 0 {
			break
		}
		if err := d.Err(d.API.SynchronizeStream(stream), "cuStreamSynchronize"); err != nil {
			return err
		}
	}
	if len(t.spans) == 0 || t.spans[len(t.spans)-1].end == 0 {
		return nil
	}
	return t.report(s, time.Now())
}

// drop releases the events.
func (t *timing) drop(d *device) {
	if t == nil {
		return
	}
	for _, span := range t.spans {
		d.API.DestroyEvent(span.begin)
		if span.end != 0 {
			d.API.DestroyEvent(span.end)
		}
	}
	t.spans = nil
}

// report tells the meter and the recorder about steps that ended now.
func (t *timing) report(s *session, now time.Time) error {
	d := s.device
	var failed error
	between := func(begin, end driver.Handle) time.Duration {
		ms, r := d.API.Elapsed(begin, end)
		failed = errors.Join(failed, d.Err(r, "cuEventElapsedTime"))
		return time.Duration(float64(ms) * float64(time.Millisecond))
	}
	whole, begins, lasts := time.Duration(0), make([]time.Duration, len(t.spans)), make([]time.Duration, len(t.spans))
	for i, span := range t.spans {
		begins[i], lasts[i] = between(t.spans[0].begin, span.begin), between(span.begin, span.end)
		whole = max(whole, begins[i]+lasts[i])
	}
	begin := now.Add(-whole)
	ops, at := []kernels.OpTime{}, map[*lower.Step]int{}
	for i, span := range t.spans {
		lane, op := tracing.Replica(s.replica), d.timeOf(span.step)
		if span.beside {
			lane = tracing.Collectives(s.replica)
		}
		t.recorder.At(lane, "op", op.Name, op.Scope, op.Bytes, begin.Add(begins[i]), lasts[i])
		j, known := at[span.step]
		if !known {
			j = len(ops)
			at[span.step], ops = j, append(ops, op)
		}
		ops[j].Calls, ops[j].Time = ops[j].Calls+1, ops[j].Time+lasts[i]
	}
	t.recorder.At(tracing.Replica(s.replica), "program", s.executable.program.Name, "", 0, begin, whole)
	if t.meter != nil && failed == nil {
		t.meter.Ran(s.executable.program.Name, ops)
	}
	return failed
}

// timeOf is what a profile says about a step, except for its time.
func (d *device) timeOf(step *lower.Step) kernels.OpTime {
	op := kernels.OpTime{Name: step.Name, Scope: step.Scope, Bytes: step.Bytes, FLOPs: step.FLOPs, Peak: d.peak(step), Bandwidth: d.bandwidth()}
	if step.Kind == lower.Collect { // it waits for the others, so a memory bound says nothing
		op.Name, op.Bandwidth, op.Bytes = step.Op.String(), 0, 0
		for _, v := range step.Values {
			op.Bytes += int64(v.Type.Bytes())
		}
	}
	return op
}

// timed reports whether the launches of the replicas are timed. If they cannot be, it drops the request: whether a call
// of NCCL is part of a graph has to be the same in all processes, and the others are not asked for times.
func (g *group) timed() (asked bool) {
	nccl := false
	if g.link != nil {
		_, nccl = g.link.carrier.(*ends)
	}
	for i := range g.parts {
		s := g.parts[i].session
		if nccl && len(g.link.everybody) > 1 && g.link.carrier.records() {
			s.timing = nil
		}
		asked = asked || s.timing != nil
	}
	return asked
}

// begun marks the beginning of a replica's collective, and ended its end.
func (g *group) begun(replica int, d *device, _ *combining) error {
	if t := g.parts[replica].session.timing; t != nil {
		return t.start(d, g.steps[replica], g.lanes[replica])
	}
	return nil
}

func (g *group) ended(replica int, d *device, _ *combining) error {
	if t := g.parts[replica].session.timing; t != nil {
		return t.stop(d, g.lanes[replica])
	}
	return nil
}

// report ends the timing of a replica's launch, if there is one.
func (p *part) report() error {
	s := p.session
	t, d := s.timing, s.device
	if s.timing = nil; t == nil {
		return nil
	}
	if err := d.Enter(); err != nil {
		return err
	}
	defer d.Leave()
	return t.end(s)
}

// rates are the multiplications and additions that a multiprocessor does per clock, as NVIDIA publishes them, by
// compute capability: in float32, by tensor cores on 16-bit elements with sums in float32, and in TF32.
var rates = map[int][3]float64{
	75: {128, 0, 0}, 80: {128, 2048, 1024}, 86: {256, 512, 256}, 87: {256, 1024, 512}, 89: {256, 512, 256}, 90: {256, 4096, 2048},
	100: {256, 8192, 4096}, 103: {256, 8192, 4096}, 120: {256, 512, 256},
}

// bandwidth is how many bytes per second the device's memory reads and writes, by its clock and the width of its bus; 0
// if unknown.
func (d *device) bandwidth() float64 {
	kilohertz, r := d.API.DeviceAttribute(driver.AttributeMemoryClock, d.Index)
	bits, r2 := d.API.DeviceAttribute(driver.AttributeMemoryWidth, d.Index)
	if r != driver.Success || r2 != driver.Success {
		return 0
	}
	return 2 * float64(kilohertz) * 1e3 * float64(bits) / 8 // both edges of the clock
}

// peak is how many FLOPs per second the device can reach in a step; 0 if unknown.
func (d *device) peak(step *lower.Step) float64 {
	if step.FLOPs == 0 {
		return 0
	}
	rate := rates[d.Facts.Capability]
	kind := 0
	switch {
	case step.Tensor:
		kind = 1
	case step.TF32:
		kind = 2
	}
	kilohertz, r := d.API.DeviceAttribute(driver.AttributeClock, d.Index)
	if r != driver.Success {
		return 0
	}
	return rate[kind] * float64(d.Facts.Processors) * float64(kilohertz) * 1e3
}
