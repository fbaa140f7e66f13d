package exec

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/gokeras/gokeras/internal/tracing"
	"github.com/gokeras/gokeras/kernels"
)

// Run computes one step on all replicas and waits for it. seed and step determine the random numbers: equal ones give
// equal numbers.
//
// If ctx has ended, nothing is computed. A step that has begun runs to its end, so that all copies of the variables
// stay equal; ctx ends only the waiting for replicas of other processes.
func (inst *Instance) Run(ctx context.Context, seed uint64, step uint32) error {
	if err := inst.compute(ctx, seed, step); err != nil || !inst.halves {
		return err
	}
	return inst.Commit()
}

// RunThen is Run, after which read reads results. A device that runs by itself is asked for them before it has computed
// them, so that the host waits only once. If the step fails, what read has seen is undefined, and the error is that of
// the step.
func (inst *Instance) RunThen(ctx context.Context, seed uint64, step uint32, read func() error) error {
	if inst.meets || inst.remote || inst.halves || inst.lane.inline() {
		if err := inst.Run(ctx, seed, step); err != nil {
			return err
		}
		return read()
	}
	if err := inst.Launch(ctx, seed, step); err != nil {
		return err
	}
	err := read()
	if late := inst.Wait(); late != nil {
		return heardAtOnce(late)
	}
	return err
}

func (inst *Instance) compute(ctx context.Context, seed uint64, step uint32) error {
	err := inst.Launch(ctx, seed, step)
	if err != nil {
		return err
	}
	if inst.remote { // replicas of other processes may never come
		err = inst.lane.wait(ctx)
	} else {
		err = inst.Wait()
	}
	if err != nil {
		return heardAtOnce(err)
	}
	return nil
}

// heardAtOnce removes the last launch from a [LateError], because its caller is told at once.
func heardAtOnce(err error) error {
	var late *LateError
	if !errors.As(err, &late) {
		return err
	}
	if late.Undone--; late.Undone == 0 {
		return late.Err
	}
	return err
}

// Wait returns when all launches are over. The error is a [*LateError] if one failed.
func (inst *Instance) Wait() error { return inst.lane.wait(context.Background()) }

// explain adds where the programs of workers differ, if that is the error.
func (inst *Instance) explain(err error) error {
	if err == nil || inst.at.Group == nil {
		return err
	}
	return explain(inst.at, inst.owner.call.Name, inst.owner.programs, err)
}

// Launch is Run without waiting, on devices that run by themselves: inputs may be written and the next step launched at
// once. A failure is the [*LateError] of a later Launch, or of Wait. A step that fails changes no variable, and neither
// do those launched after it.
func (inst *Instance) Launch(ctx context.Context, seed uint64, step uint32) (err error) {
	if err := ctx.Err(); err != nil {
		return err
	}
	for _, v := range inst.sharded {
		v.whole.Store(nil)
	}
	if inst.meets {
		if inst.set, err = inst.pool.take(inst.connect); err != nil {
			return err
		}
		for _, c := range inst.set.told {
			c.SetCall(inst.owner.call)
		}
		if inst.remote {
			if err := inst.set.agree(ctx, inst.at, inst.owner.call); err != nil {
				inst.giveSet(err)
				return inst.explain(err)
			}
		}
	}
	switch {
	case inst.remote:
		inst.ctx = ctx // the communicators stop waiting for other processes a while after it ends
	case inst.lane.inline():
		inst.detached.Context = ctx
		inst.ctx = &inst.detached
	case kernels.MeterOf(ctx) != nil || tracing.Active(ctx) != nil:
		inst.ctx = context.WithoutCancel(ctx) // devices report to whoever asks
	default:
		inst.ctx = context.Background()
	}
	if !inst.lane.inline() {
		return inst.enqueue(ctx, seed, step)
	}
	if err := inst.prepare(seed, step); err != nil {
		inst.giveSet(nil)
		return err
	}
	err = inst.runAll()
	inst.giveSet(err)
	if err != nil {
		inst.forgetRandom()
		for _, q := range inst.lane.queues {
			_ = q.Wait(ctx) // the same error
		}
		return inst.explain(err)
	}
	return inst.replicas[0].store()
}

// detached is a context that does not end when the one within does, because a step that has begun is not interrupted.
// It is a field of the instance, so that steps allocate nothing.
type detached struct{ context.Context }

func (detached) Deadline() (time.Time, bool) { return time.Time{}, false }
func (detached) Done() <-chan struct{}       { return nil }
func (detached) Err() error                  { return nil }

// giveSet gives the communicators back, or closes them after a failure.
func (inst *Instance) giveSet(err error) {
	switch {
	case inst.set == nil:
	case err != nil:
		inst.pool.drop(inst.set)
	default:
		inst.pool.give(inst.set)
	}
	inst.set = nil
}

// prepare sets the random numbers and brings working copies of variables up to date.
func (inst *Instance) prepare(seed uint64, step uint32) error {
	for i := range inst.replicas {
		r := &inst.replicas[i]
		stream := uint32(r.id)
		if inst.sameDraws {
			stream = 0
		}
		if err := r.random.set(seed, step, stream); err != nil {
			return err
		}
		if err := r.fetch(); err != nil {
			return err
		}
	}
	return nil
}

// launching keeps launches of several replicas apart: devices run programs that wait for each other, so all must get
// them in one order.
var launching sync.Mutex

// enqueue launches the step on devices that run by themselves.
func (inst *Instance) enqueue(ctx context.Context, seed uint64, step uint32) error {
	s, err := inst.lane.next(ctx)
	if err == nil {
		launching.Lock()
		if err = inst.prepare(seed, step); err == nil {
			for i := range inst.replicas {
				s.events[i] = inst.launch(i)
			}
			err = inst.replicas[0].store()
			s.inst, s.pool, s.set, s.steps = inst, inst.pool, inst.set, 1
			if inst.loop != nil && inst.loop.running {
				s.steps = inst.loop.steps
			}
		} else {
			inst.lane.cancel()
		}
		launching.Unlock()
	}
	hosted := inst.set != nil && inst.set.told != nil
	inst.giveSet(nil)
	if err == nil && hosted { // the processes meet through the group, whose next calls are in order only when these are over
		return inst.lane.wait(ctx)
	}
	return err
}

// launch starts one replica.
func (inst *Instance) launch(i int) kernels.Event {
	session, l := inst.launchOf(i)
	return session.Launch(inst.ctx, l)
}

func (inst *Instance) launchOf(i int) (kernels.Session, kernels.Launch) {
	r := &inst.replicas[i]
	session, l := r.session, kernels.Launch{Queue: inst.lane.queues[i], Inputs: r.inputs, Outputs: r.outputs}
	if inst.loop != nil && inst.loop.running {
		own := &inst.loop.replicas[i]
		session, l.Inputs, l.Outputs = own.session, own.inputs, own.outputs
	}
	if inst.set != nil {
		l.Communicator = inst.set.ends[i]
	}
	return session, l
}

// inTurns runs the replicas on this goroutine, if they can do that and it is better.
func (inst *Instance) inTurns() bool {
	if inst.remote {
		return false
	}
	inst.sessions, inst.launches = inst.sessions[:0], inst.launches[:0]
	for i := range inst.replicas {
		session, l := inst.launchOf(i)
		inst.sessions, inst.launches = append(inst.sessions, session), append(inst.launches, l)
	}
	first, ok := inst.sessions[0].(kernels.TurnTaker)
	done := ok && first.LaunchInTurns(inst.ctx, inst.sessions, inst.launches, inst.errs)
	clear(inst.launches)
	return done
}

// runAll runs the replicas at the same time, if the queue is the caller.
func (inst *Instance) runAll() error {
	if len(inst.replicas) == 1 {
		return inst.runReplica(0)
	}
	if !inst.inTurns() {
		inst.wait.Add(len(inst.run))
		for _, run := range inst.run {
			go run() // no allocation: the runtime keeps finished goroutines for the next ones
		}
		inst.errs[0] = inst.runReplica(0)
		inst.wait.Wait()
	}
	var failed error
	for _, err := range inst.errs {
		failed = firstCause(failed, err)
	}
	return failed
}

var errAborted = errors.New("another replica failed")

func (inst *Instance) runReplica(i int) error {
	err := inst.launch(i).Wait(inst.ctx)
	if err != nil && inst.set != nil && len(inst.replicas) > 1 {
		inst.set.ends[i].Abort(fmt.Errorf("%w: replica %d: %w", errAborted, i, err))
	}
	return err
}

// forgetRandom records that the counters of the devices are unknown.
func (inst *Instance) forgetRandom() {
	for i := range inst.replicas {
		inst.replicas[i].random.known = false
	}
}

// randomState is the input that random numbers are drawn from: the seed, a counter of steps and the number of the
// replica. The program itself advances the counter, so that consecutive steps need nothing from the host.
type randomState struct {
	buffer  kernels.Buffer // nil: the program draws none
	known   bool           // the fields below are what the device has
	seed    uint64
	step    uint32
	replica uint32
	memory  [16]byte
}

// set makes the next launch draw the numbers of the given step.
func (r *randomState) set(seed uint64, step, replica uint32) error {
	if r.buffer == nil {
		return nil
	}
	if !r.known || r.seed != seed || r.step != step || r.replica != replica {
		s := r.memory[:]
		for i := range 4 {
			s[i], s[4+i] = byte(seed>>(8*i)), byte(seed>>(32+8*i))
			s[8+i], s[12+i] = byte(step>>(8*i)), byte(replica>>(8*i))
		}
		r.known, r.seed, r.replica = true, seed, replica
		if err := r.buffer.Write(s); err != nil {
			return err
		}
	}
	r.step = step + 1 // after the launch
	return nil
}
