package flush

import "runtime"

// Mode is the part of a thread's floating-point control that reports what happens to denormal numbers.
type Mode uint32

// Default is Go's own mode: denormals are numbers like others.
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

// EnterZero is Enter with the mode that flushes.
func EnterZero() Section { return Enter(toZero) }

// Leave restores the mode from before Enter and unlocks the goroutine. It must be deferred where a panic may pass.
func (s Section) Leave() {
	s.before.Set()
	runtime.UnlockOSThread()
}

// Pause is a stretch of waiting inside a [Section].
type Pause struct{ mode Mode }

// Rest begins a stretch in which the goroutine only waits: the thread is in Go's own mode, and the goroutine may leave
// it. A goroutine that yields or sleeps while it is locked has its thread sleep with it, and both threads change twice.
// Outside a section nothing happens.
func Rest() Pause {
	p := Pause{Current()}
	if p.mode != Default {
		Default.Set()
		runtime.UnlockOSThread()
	}
	return p
}

// End returns to the mode from before Rest, on the thread where the goroutine is now.
func (p Pause) End() {
	if p.mode != Default {
		runtime.LockOSThread()
		p.mode.Set()
	}
}
