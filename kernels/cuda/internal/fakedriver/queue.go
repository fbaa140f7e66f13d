//go:build linux

package fakedriver

import (
	"math/rand/v2"
	"slices"
	"time"

	"github.com/gokeras/gokeras/kernels/cuda/internal/driver"
)

func (f *Fake) NewStream() (driver.Handle, driver.Result) {
	defer f.mu.Unlock()
	if r := f.enter("cuStreamCreateWithPriority"); r != 0 {
		return 0, r
	}
	s := &stream{device: f.here()}
	for _, other := range f.streams {
		if other.device == s.device {
			s.number++
		}
	}
	s.changed.L = &s.mu
	h := f.handle()
	f.streams[h] = s
	go f.serve(s)
	return h, 0
}

// serve does a stream's work, with occasional pauses.
func (f *Fake) serve(s *stream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		for len(s.work) == 0 {
			if s.closed {
				return
			}
			s.changed.Wait()
		}
		next := s.work[0]
		s.work = s.work[1:]
		s.mu.Unlock()
		if err := f.do(s, next); err != nil {
			f.mu.Lock()
			if f.fault == nil {
				f.fault = err
			}
			f.mu.Unlock()
		}
		s.mu.Lock()
		s.done++
		s.changed.Broadcast()
	}
}

// do does a piece of work of a stream.
func (f *Fake) do(s *stream, work func() error) error {
	if s.number > 0 && f.options.Lag > 0 {
		time.Sleep(f.options.Lag)
	}
	if rand.IntN(64) == 0 {
		time.Sleep(time.Duration(rand.IntN(40)) * time.Microsecond)
	}
	f.mu.Lock()
	lost := f.lost[s.device]
	f.mu.Unlock()
	if lost {
		return nil
	}
	return work()
}

// put appends work to a stream, or to its capture.
func (f *Fake) put(h driver.Handle, work func() error) driver.Result {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := f.streams[h]
	if s == nil {
		return driver.InvalidValue
	}
	if s.device != f.here() {
		return driver.InvalidContext
	}
	s.give(work)
	return 0
}

// give appends work; the fake's lock is held.
func (s *stream) give(work func() error) {
	if s.capture != nil {
		s.capture.add(s, work)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.work = append(s.work, work)
	s.given++
	s.clock++
	s.changed.Broadcast()
}

func (f *Fake) DestroyStream(h driver.Handle) driver.Result {
	r := f.enter("cuStreamDestroy_v2")
	s := f.streams[h]
	delete(f.streams, h)
	f.mu.Unlock()
	if s == nil {
		return driver.InvalidValue
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.done < s.given {
		s.changed.Wait()
	}
	s.closed = true
	s.changed.Broadcast()
	return r
}

// wait waits until a stream has completed n pieces of work.
func (s *stream) wait(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.done < n {
		s.changed.Wait()
	}
}

// state returns the result of waiting for a stream: its device may have been lost meanwhile.
func (f *Fake) state(s *stream) driver.Result {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.fault != nil:
		return driver.IllegalAddress
	case s != nil && f.lost[s.device]:
		return driver.DeviceUnavailable
	}
	return 0
}

func (f *Fake) SynchronizeStream(h driver.Handle) driver.Result {
	r := f.enter("cuStreamSynchronize")
	s := f.streams[h]
	f.mu.Unlock()
	if r != 0 {
		return r
	}
	if s == nil {
		return driver.InvalidValue
	}
	if f.Capturing(h) {
		return driver.CaptureInvalidate
	}
	s.mu.Lock()
	n := s.given
	s.mu.Unlock()
	s.wait(n)
	return f.state(s)
}

// QueryStream returns NotReady while the stream has work.
func (f *Fake) QueryStream(h driver.Handle) driver.Result {
	r := f.enter("cuStreamQuery")
	s := f.streams[h]
	f.mu.Unlock()
	if r != 0 {
		return r
	}
	if s == nil {
		return driver.InvalidValue
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.done < s.given {
		return driver.NotReady
	}
	return 0
}

func (f *Fake) NewEvent() (driver.Handle, driver.Result) {
	defer f.mu.Unlock()
	if r := f.enter("cuEventCreate"); r != 0 {
		return 0, r
	}
	h := f.handle()
	f.events[h] = &event{}
	f.homes[h] = f.here()
	return h, 0
}

// NewTimedEvent is NewEvent: here all events have timestamps.
func (f *Fake) NewTimedEvent() (driver.Handle, driver.Result) { return f.NewEvent() }

// Elapsed returns the time between two events of a device. Each piece of work takes a millisecond, everything else no
// time.
func (f *Fake) Elapsed(begin, end driver.Handle) (float32, driver.Result) {
	defer f.mu.Unlock()
	if r := f.enter("cuEventElapsedTime"); r != 0 {
		return 0, r
	}
	a, b := f.events[begin], f.events[end]
	if a == nil || b == nil || a.stream == nil || b.stream == nil || a.stream.device != b.stream.device {
		return 0, driver.InvalidValue
	}
	for _, e := range []*event{a, b} {
		e.stream.mu.Lock()
		early := e.stream.done < e.after
		e.stream.mu.Unlock()
		if early {
			return 0, driver.NotReady
		}
	}
	return float32(b.clock - a.clock), 0
}

func (f *Fake) DestroyEvent(h driver.Handle) driver.Result {
	defer f.mu.Unlock()
	r := f.enter("cuEventDestroy_v2")
	if f.events[h] == nil {
		return driver.InvalidValue
	}
	delete(f.events, h)
	return r
}

func (f *Fake) RecordEvent(h, on driver.Handle) driver.Result {
	defer f.mu.Unlock()
	if r := f.enter("cuEventRecord"); r != 0 {
		return r
	}
	e, s := f.events[h], f.streams[on]
	if e == nil || s == nil {
		return driver.InvalidValue
	}
	if f.homes[h] != s.device {
		return driver.InvalidContext
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	e.capture, e.behind, e.stream, e.after, e.clock = s.capture, s.tail, s, s.given, s.clock
	return 0
}

func (f *Fake) SynchronizeEvent(h driver.Handle) driver.Result {
	r := f.enter("cuEventSynchronize")
	e := f.events[h]
	var at event
	if e != nil {
		at = *e
	}
	f.mu.Unlock()
	if r != 0 || e == nil {
		return max(r, driver.Result(0))
	}
	if at.stream != nil {
		at.stream.wait(at.after)
	}
	return f.state(at.stream)
}

// WaitEvent makes a stream wait for the event's last recording.
func (f *Fake) WaitEvent(on, h driver.Handle) driver.Result {
	r := f.enter("cuStreamWaitEvent")
	e := f.events[h]
	var at event
	if e != nil {
		at = *e
	}
	f.mu.Unlock()
	if r != 0 || e == nil {
		return max(r, driver.Result(0))
	}
	if at.capture != nil {
		return f.join(on, at)
	}
	if at.stream != nil && f.Capturing(on) {
		return driver.CaptureIsolation
	}
	r = f.put(on, func() error {
		if at.stream != nil {
			at.stream.wait(at.after)
		}
		return nil
	})
	f.mu.Lock()
	defer f.mu.Unlock()
	if s := f.streams[on]; s != nil {
		s.mu.Lock()
		s.clock = max(s.clock, at.clock)
		s.mu.Unlock()
	}
	return r
}

// Capturing reports whether a stream is being captured.
func (f *Fake) Capturing(h driver.Handle) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := f.streams[h]
	return s != nil && s.capture != nil
}

// join makes a stream wait for an event of a capture, and become part of it.
func (f *Fake) join(on driver.Handle, e event) driver.Result {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := f.streams[on]
	switch {
	case s == nil:
		return driver.InvalidValue
	case s.capture == nil && e.capture.origin.capture == e.capture:
		s.capture, s.tail = e.capture, nil
	case s.capture != e.capture || s.capture == nil:
		e.capture.invalid = driver.CaptureInvalidate
		return driver.CaptureInvalidate
	}
	tail := slices.Concat(s.tail, e.behind)
	slices.Sort(tail)
	s.tail = slices.Compact(tail)
	return 0
}

func (f *Fake) QueryEvent(h driver.Handle) driver.Result {
	r := f.enter("cuEventQuery")
	e := f.events[h]
	var at event
	if e != nil {
		at = *e
	}
	f.mu.Unlock()
	if r != 0 || at.stream == nil {
		return r
	}
	if at.capture != nil {
		return driver.CaptureInvalidate
	}
	at.stream.mu.Lock()
	defer at.stream.mu.Unlock()
	if at.stream.done < at.after {
		return driver.NotReady
	}
	return 0
}

// Here returns the device whose context is current on the calling thread.
func (f *Fake) Here() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.here()
}

// Foreign appends another library's work to a stream of a device, whichever context is current. The device must be
// allowed to access the addresses.
func (f *Fake) Foreign(h driver.Handle, device int, what string, work func() error, addresses ...uint64) driver.Result {
	f.mu.Lock()
	s := f.streams[h]
	f.mu.Unlock()
	if s == nil || s.device != device {
		return driver.InvalidContext
	}
	if err := f.reaches(h, addresses); err != nil {
		return f.fails(err)
	}
	work = f.traced(h, what, work)
	f.mu.Lock()
	defer f.mu.Unlock()
	s.give(work)
	return 0
}
