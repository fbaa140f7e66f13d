package cpu

import (
	"context"
	"math"
	"slices"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/cpu/internal/isa"
	"github.com/gokeras/gokeras/kernels/cpu/internal/micro"
	"github.com/gokeras/gokeras/kernels/cpu/internal/pool"
	"github.com/gokeras/gokeras/kernels/ir"
)

// loaded is a session with its executable, for tests inside the package.
type loaded struct {
	*session
	executable *executable
}

func (b Backend) load(p *ir.Program, o kernels.CompileOptions, plain bool) (*loaded, error) {
	e, err := b.compile(p, o, plain)
	if err != nil {
		return nil, err
	}
	s, err := e.NewSession(kernels.SessionOptions{Device: o.Device})
	if err != nil {
		return nil, err
	}
	l := &loaded{s.(*session), e}
	for _, w := range l.rt.workers { // filled with NaN: a step may not read what it has not written
		for i := range w.scratch {
			w.scratch[i] = 0xff
		}
	}
	return l, nil
}

func (l *loaded) Stats() kernels.Stats { return l.executable.Stats() }

// Run launches without communicator and waits.
func (s *session) Run(ctx context.Context, inputs, outputs []kernels.Buffer) error {
	return s.Launch(ctx, kernels.Launch{Inputs: inputs, Outputs: outputs}).Wait(ctx)
}

// StepNames lists the steps of a program in order.
func StepNames(l *kernels.Loaded) []string {
	var names []string
	for _, s := range l.Session.(*session).schedule.steps {
		names = append(names, s.name)
	}
	return names
}

// WithoutCode runs f while programs compile without generated code.
func WithoutCode(f func()) {
	withCode = false
	defer func() { withCode = true }()
	f()
}

// WithoutChains runs f while programs compile without chains.
func WithoutChains(f func()) {
	withChains = false
	defer func() { withChains = true }()
	f()
}

// WithoutExcess makes programs of mixed precision compute in 16 bits until restore is called.
func WithoutExcess() (restore func()) {
	withExcess = false
	return func() { withExcess = true }
}

// ForcePairs makes bfloat16 programs multiply pairs, or compute in float32, regardless of the gain, until restore is
// called.
func ForcePairs(pairs bool) (restore func()) {
	if leastGain = math.Inf(1); pairs {
		leastGain = math.Inf(-1)
	}
	return func() { leastGain = 0 }
}

// ForceBlocks makes programs that predict run layers in blocks of examples whenever that moves fewer bytes, until
// restore is called. The blocks do not depend on the machine: near is the size of all workers' caches.
func ForceBlocks(near int) (restore func()) {
	before, worth := nearExamples, worthExamples
	nearExamples, worthExamples = max(near/max(pool.Shared().Workers(), 1), 1), 0
	return func() { nearExamples, worthExamples = before, worth }
}

// Loops reports whether the program has a loop.
func Loops(e *loaded) bool {
	return slices.ContainsFunc(e.schedule.steps, func(s step) bool { return s.name == ir.Scan.String() })
}

// MultipliesPairs reports whether the processor can multiply pairs of bfloat16, and may do without.
func MultipliesPairs() bool { return micro.Pairs() && !isa.Active().Has(isa.AMXBF16) }

// InTurns lets replicas of small programs take turns, even under the race detector, until restore is called.
func InTurns() (restore func()) {
	before := maxTurnSeconds
	maxTurnSeconds = 8e-6
	return func() { maxTurnSeconds = before }
}

// Writing returns how many buffers the session's current run is writing.
func Writing(s kernels.Session) int { return len(s.(*session).written) }

// RaceDetector reports whether the tests run under the race detector.
func RaceDetector() bool { return maxTurnSeconds == 0 }

// Load compiles a program, fused or not, and opens a session of it.
func Load(p *ir.Program, o kernels.CompileOptions, plain bool) (*loaded, error) {
	return Backend{}.load(p, o, plain)
}
