package kernels

import (
	"context"
	"time"
)

// OpTime is the time that a step of a program took on a device.
type OpTime struct {
	Name  string // the ops of the step, joined by "+"
	Scope string // the layer
	Calls int
	Time  time.Duration // of all calls together
	Bytes int64         // of one call: bytes of the values that the step reads from memory and writes to it
	FLOPs int64         // of one call: multiplications and additions of products, convolutions and attention; 0 for other ops
	Peak  float64       // FLOPs per second that the device can reach in such a step; 0 if unknown
	// Bandwidth is the largest number of bytes per second that the device's memory reads and writes; 0 if unknown.
	Bandwidth float64
}

// Meter receives the times of launches under a context. Devices then time each step separately, which is slower.
type Meter interface {
	// Ran reports a launch, with the steps in the program's order.
	Ran(program string, ops []OpTime)
}

type meterKey struct{}

// WithMeter returns a context whose launches are reported to the meter that current returns at the time, or to none if
// that is nil.
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
