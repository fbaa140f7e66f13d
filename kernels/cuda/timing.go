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

// timing times the kernels of a launch, each between two events. The launch is not a graph then, and the host waits for
// its end.
type timing struct {
	meter    kernels.Meter
	recorder *tracing.Recorder
	steps    []*lower.Step
	events   []driver.Handle // two for each kernel
}

// timingOf returns the timing of a launch under the context; nil where nobody asks for it.
func timingOf(ctx context.Context) *timing {
	meter, recorder := kernels.MeterOf(ctx), tracing.Active(ctx)
	if meter == nil && recorder == nil {
		return nil
	}
	return &timing{meter: meter, recorder: recorder}
}

// mark records the next event; the caller has the context.
func (t *timing) mark(d *device) error {
	e, r := d.API.NewTimedEvent()
	if r != driver.Success {
		return d.Err(r, "cuEventCreate")
	}
	t.events = append(t.events, e)
	return d.Err(d.API.RecordEvent(e, d.Stream), "cuEventRecord")
}

// end waits for the launch and reports what its kernels took.
func (t *timing) end(s *session) error {
	d := s.device
	defer func() {
		for _, e := range t.events {
			d.API.DestroyEvent(e)
		}
	}()
	if err := d.Err(d.API.SynchronizeStream(d.Stream), "cuStreamSynchronize"); err != nil || len(t.events) < 2 {
		return err
	}
	now := time.Now()
	var failed error
	between := func(begin, end int) time.Duration {
		ms, r := d.API.Elapsed(t.events[begin], t.events[end])
		failed = errors.Join(failed, d.Err(r, "cuEventElapsedTime"))
		return time.Duration(float64(ms) * float64(time.Millisecond))
	}
	last := len(t.events) - 1
	whole := between(0, last)
	begin, lane := now.Add(-whole), tracing.Replica(s.replica)
	ops, at := []kernels.OpTime{}, map[*lower.Step]int{}
	for i, step := range t.steps {
		took := between(2*i, 2*i+1)
		t.recorder.At(lane, "op", step.Name, step.Scope, step.Bytes, begin.Add(between(0, 2*i)), took)
		j, known := at[step]
		if !known {
			j = len(ops)
			at[step] = j
			ops = append(ops, kernels.OpTime{Name: step.Name, Scope: step.Scope, Bytes: step.Bytes, FLOPs: step.FLOPs, Peak: d.peak(step), Bandwidth: d.bandwidth()})
		}
		ops[j].Calls, ops[j].Time = ops[j].Calls+1, ops[j].Time+took
	}
	t.recorder.At(lane, "program", s.executable.program.Name, "", 0, begin, whole)
	if t.meter != nil && failed == nil {
		t.meter.Ran(s.executable.program.Name, ops)
	}
	return failed
}

// rates are the multiplications and additions that a multiprocessor does in a clock, as NVIDIA publishes them, by
// compute capability: of float32, by tensor cores of elements of 16 bits with sums in float32, and of TF32.
var rates = map[int][3]float64{
	75: {128, 0, 0}, 80: {128, 2048, 1024}, 86: {256, 512, 256}, 87: {256, 1024, 512}, 89: {256, 512, 256}, 90: {256, 4096, 2048},
	100: {256, 8192, 4096}, 103: {256, 8192, 4096}, 120: {256, 512, 256},
}

// bandwidth is how many bytes the device's memory reads and writes in a second, by its clock and the width of its bus;
// 0 where that is not known.
func (d *device) bandwidth() float64 {
	kilohertz, r := d.API.DeviceAttribute(driver.AttributeMemoryClock, d.Index)
	bits, r2 := d.API.DeviceAttribute(driver.AttributeMemoryWidth, d.Index)
	if r != driver.Success || r2 != driver.Success {
		return 0
	}
	return 2 * float64(kilohertz) * 1e3 * float64(bits) / 8 // both edges of the clock
}

// peak is how many of a step's FLOPs the device can do in a second; 0 where that is not known.
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
