//go:build linux

package fakedriver

import (
	"slices"

	"github.com/gokeras/gokeras/kernels/cuda/internal/driver"
)

// Span is a kernel, a copy from host memory, or another library's call, in a stream. Begin and End are positions in the
// order of events on all devices.
type Span struct {
	Device, Stream int // a device's streams are numbered from 0, in the order of their creation
	What           string
	Begin, End     int // End is 0 until it ends
}

// CopyToDevice is the name of copies from host memory in spans.
const CopyToDevice = "cuMemcpyHtoDAsync_v2"

// Trace starts recording what streams do.
func (f *Fake) Trace() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.tracing, f.spans, f.happened = true, nil, 0
}

// Spans returns what was recorded so far, ordered by Begin.
func (f *Fake) Spans() []Span {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.spans)
}

// traced wraps work so that it is recorded.
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
