package kernels

import (
	"context"
	"time"
)

// OpTime is what a step of a program took on a device.
type OpTime struct {
	Name  string // the ops of the step, joined by "+"
	Scope string // the layer
	Calls int
	Time  time.Duration // of all calls
	Bytes int64         // of one call: the values that the step reads from memory and writes to it
	FLOPs int64         // of one call: multiplications and additions of products, convolutions and attention; 0 for other ops
	Peak  float64       // FLOPs a second that the device can do in such a step; 0 where that is not known
	// Bandwidth is how many bytes a second the device's memory reads and writes at most; 0 where that is not known.
	Bandwidth float64
}

// Meter is told what launches under a context took. Devices time each step by itself then, which is slower.
type Meter interface {
	// Ran reports a launch, with the steps in the program's order.
	Ran(program string, ops []OpTime)
}

type meterKey struct{}

// WithMeter returns a context for launches that are reported to the meter that current returns at the time; nil: to
// none.
func WithMeter(ctx context.Context, current func() Meter) context.Context {
	return context.WithValue(ctx, meterKey{}, current)
}

// MeterOf returns the meter of launches under the context, or nil.
func MeterOf(ctx context.Context) Meter {
	if current, ok := ctx.Value(meterKey{}).(func() Meter); ok {
		return current()
	}
	return nil
}
