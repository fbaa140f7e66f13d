package flush

import "runtime"

// Mode is the part of a thread's floating-point control that determines how denormal numbers are treated.
type Mode uint32

// Default is Go's own mode, in which denormals are kept.
const Default Mode = 0

// Supported reports whether there is a mode to switch to.
const Supported = toZero != 0

// Current returns the calling thread's mode.
func Current() Mode { return Mode(control()) & toZero }

// Set makes m the calling thread's mode.
func (m Mode) Set() {
	if now := control(); Mode(now)&toZero != m {
		setControl(now&^uint32(toZero) | uint32(m))
	}
}

// Section is a stretch of code in another mode than its caller's.
type Section struct{ before Mode }

// Enter locks the goroutine to its thread and sets the mode until [Section.Leave].
func Enter(m Mode) Section {
	runtime.LockOSThread()
	s := Section{Current()}
	m.Set()
	return s
}

// EnterZero is Enter with the mode that flushes denormals.
func EnterZero() Section { return Enter(toZero) }

// Leave restores the mode from before Enter and unlocks the goroutine. It must be deferred if the section may panic.
func (s Section) Leave() {
	s.before.Set()
	runtime.UnlockOSThread()
}

// Pause is a stretch of waiting inside a [Section].
type Pause struct{ mode Mode }

// Rest begins a stretch in which the goroutine only waits. It switches the thread to Go's own mode and unlocks the
// goroutine. If a locked goroutine yields or sleeps, its thread sleeps with it, and threads are switched twice. Outside
// a section Rest does nothing.
func Rest() Pause {
	p := Pause{Current()}
	if p.mode != Default {
		Default.Set()
		runtime.UnlockOSThread()
	}
	return p
}

// End returns to the mode from before Rest, on the goroutine's current thread.
func (p Pause) End() {
	if p.mode != Default {
		runtime.LockOSThread()
		p.mode.Set()
	}
}
