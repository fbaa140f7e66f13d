package cpu

import (
	"context"
	"fmt"
	"hash/fnv"
	"slices"

	"github.com/gokeras/gokeras/internal/tracing"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/cpu/internal/flush"
)

// The replicas of a small program run on one goroutine, because starting others and meeting them would take longer than
// the computation. When the program waits for an all-reduce, the next replica takes its turn.

// maxTurnSeconds is the largest duration, in seconds, of a program that counts as small. Starting a goroutine and
// meeting it takes 10 to 20 microseconds.
var maxTurnSeconds = 8e-6

// maxPendingAllReduces is the largest number of all-reduces that a program may start. A replica has memory for so many
// that the others have not reached yet.
const maxPendingAllReduces = 16

// turns returns a fingerprint. Programs run in turns if their fingerprints are equal, and not 0. It is 0 for programs
// that are large, or whose replicas meet other than in all-reduces that run in the background.
func (s *schedule) turns() uint64 {
	seconds, started := 0.0, 0
	order := fnv.New64a()
	for i := range s.steps {
		st := &s.steps[i]
		seconds += 60e-9 + float64(st.flops)/20e9 + float64(st.bytes)/8e9
		switch st.role {
		case meets:
			return 0
		case starts:
			started++
		}
		_, _ = order.Write([]byte{byte(st.role)})
	}
	if seconds > maxTurnSeconds || started > maxPendingAllReduces || len(s.children) > 0 {
		return 0
	}
	return max(order.Sum64(), 1)
}

// progresser is a communicator that can do what is possible without waiting.
type progresser interface{ Progress() error }

// LaunchInTurns implements [kernels.TurnTaker].
func (e *session) LaunchInTurns(ctx context.Context, sessions []kernels.Session, launches []kernels.Launch, errs []error) bool {
	if measurementOf(ctx) != nil || tracing.Active(ctx) != nil {
		return false
	}
	for i, s := range sessions {
		own, ok := s.(*session)
		if !ok || own.turns == 0 || own.turns != e.turns {
			return false
		}
		if _, ok := launches[i].Communicator.(progresser); !ok && own.meets {
			return false
		}
		if q, _ := launches[i].Queue.(*queue); q != nil && q.err != nil {
			return false
		}
	}
	completed := false
	for _, s := range sessions {
		s.(*session).mu.Lock()
	}
	defer func() {
		for i, s := range sessions {
			own := s.(*session)
			if !completed && own.meets {
				launches[i].Communicator.Abort(fmt.Errorf("cpu: replica %d panicked", own.replica))
			}
			own.wrote()
			own.rt.ctx = nil
			own.mu.Unlock()
		}
	}()
	if slices.ContainsFunc(sessions, func(s kernels.Session) bool { return s.(*session).rt.profiling }) {
		completed = true // the sessions will be launched one by one
		return false
	}
	for i, s := range sessions {
		own := s.(*session)
		own.turn = 0
		errs[i] = own.begin(ctx, launches[i].Inputs, launches[i].Outputs, launches[i].Communicator)
	}
	defer flush.EnterZero().Leave()
	e.rt.pool.Enter()
	defer e.rt.pool.Leave()
	takeTurns(sessions, launches, errs)
	completed = true
	for i := range sessions {
		if q, _ := launches[i].Queue.(*queue); q != nil && errs[i] != nil {
			q.err = errs[i]
		}
	}
	return true
}

// takeTurns runs the sessions that have no error.
func takeTurns(sessions []kernels.Session, launches []kernels.Launch, errs []error) {
	for left := true; left; {
		left = false
		for i, s := range sessions {
			own, comm := s.(*session), launches[i].Communicator
			if errs[i] == nil {
				left = own.takeTurn() || left
				errs[i] = own.rt.err
			}
			if errs[i] != nil && own.meets {
				comm.Abort(errs[i])
			}
		}
		for i, s := range sessions {
			if left && s.(*session).meets {
				_ = launches[i].Communicator.(progresser).Progress() // reports an error to those that wait
			}
		}
	}
}

// takeTurn runs the steps up to the next one that waits for other replicas, and reports whether there is one.
func (e *session) takeTurn() bool {
	steps := e.schedule.steps
	for first := e.turn; e.turn < len(steps); e.turn++ {
		if steps[e.turn].role == waits && e.turn > first {
			return true
		}
		if steps[e.turn].run(); e.rt.err != nil {
			return false
		}
	}
	return false
}
