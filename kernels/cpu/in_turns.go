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

// Replicas of a small program run on one goroutine: to start another one, and to meet it, takes longer than what they
// compute. Where the program waits for an all-reduce, the next replica has its turn.

// mostInTurns is up to how many seconds a program is small: to begin a goroutine and to meet it takes 10 to 20
// microseconds.
var mostInTurns = 8e-6

// mostStarted is up to how many all-reduces a program may start: a replica has room for so many that the others have
// not come to.
const mostStarted = 16

// turns is what has to be equal for programs to run in turns, 0 for those that do not: they are large, or meet in
// other ways than by all-reduces that go on.
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
	if seconds > mostInTurns || started > mostStarted || len(s.children) > 0 {
		return 0
	}
	return max(order.Sum64(), 1)
}

// progresser is a communicator that does what it can without waiting.
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
		completed = true // by others
		return false
	}
	for i, s := range sessions {
		own := s.(*session)
		own.turn = 0
		errs[i] = own.begin(ctx, launches[i].Inputs, launches[i].Outputs, launches[i].Communicator)
	}
	defer flush.EnterZero().Leave()
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
				_ = launches[i].Communicator.(progresser).Progress() // those who wait hear of an error
			}
		}
	}
}

// takeTurn runs the steps up to the next that waits for the other replicas, and reports whether there is one.
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
