//go:build linux

package fakedriver

import (
	"slices"

	"github.com/gokeras/gokeras/kernels/cuda/internal/driver"
)

// Span is a kernel, a copy from host memory, or a call of another library, in a stream. Begin and End are places in the
// order of what happened on all devices.
type Span struct {
	Device, Stream int // streams of a device count from 0, in the order in which they were made
	What           string
	Begin, End     int // End is 0 until it is over
}

// CopyToDevice is what copies from host memory are called in spans.
const CopyToDevice = "cuMemcpyHtoDAsync_v2"

// Trace begins to write down what streams do.
func (f *Fake) Trace() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.tracing, f.spans, f.happened = true, nil, 0
}

// Spans returns what was written down so far, in the order of the beginnings.
func (f *Fake) Spans() []Span {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.spans)
}

// traced is work that is written down while it is done.
func (f *Fake) traced(h driver.Handle, what string, work func() error) func() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := f.streams[h]
	if !f.tracing || s == nil {
		return work
	}
	return func() error {
		f.mu.Lock()
		f.happened++
		at := len(f.spans)
		f.spans = append(f.spans, Span{Device: s.device, Stream: s.number, What: what, Begin: f.happened})
		f.mu.Unlock()
		err := work()
		f.mu.Lock()
		defer f.mu.Unlock()
		f.happened++
		if at < len(f.spans) {
			f.spans[at].End = f.happened
		}
		return err
	}
}
