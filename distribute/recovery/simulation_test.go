package recovery

import (
	"fmt"
)

// The simulation plays a job whose workers do what Fit of package keras does with the actions of their machines. What
// they train is known: a batch counts only where it is the next one. A world is a value, so that the exploration
// (explore_test.go) can go on from it in every way.

const most = 4 // workers

// sim is one run, from a world on.
type sim struct {
	world
	p     *program
	story []string
	err   error
}

func (s *sim) failf(format string, args ...any) {
	if s.err == nil {
		s.err = fmt.Errorf(format, args...)
	}
}

func (s *sim) logf(format string, args ...any) {
	s.story = append(s.story, fmt.Sprintf(format, args...))
}

func newSim(p *program, faults int) *sim {
	s := &sim{p: p, world: world{faults: faults, broken: true, source: -1}}
	for i := range p.workers {
		s.start(i)
	}
	return s
}

func (s *sim) start(i int) {
	s.w[i] = worker{here: true, wait: forGroup}
}

// run lets a worker go on until it needs others.
func (s *sim) run(i int) {
	w := &s.w[i]
	for w.wait == forNothing && !w.ended && s.err == nil {
		if w.spot == atMeeting {
			s.await(i)
			return
		}
		switch a := w.m.Action(); a {
		case Attempt, Agree, Transfer:
			s.await(i)
		case Form, Rejoin:
			w.wait = forGroup
		case Restore:
			s.apply(i, Event{})
		case Rewrite:
			if w.weights != w.gotWeights {
				s.failf("worker %d rewrites its variables of %d batches with those of %d", i, w.weights, w.gotWeights)
			}
			s.apply(i, Event{})
		case Adopt:
			w.place = w.m.Received().Place
			w.stopped = w.gotStopped
			s.apply(i, Event{})
		default:
			s.conclude(i, a)
		}
	}
}

// await waits for a collective, which is lost where the group has ended.
func (s *sim) await(i int) {
	w := &s.w[i]
	w.wait = forCall
	if s.broken || !s.member[i] {
		s.lose(i)
	}
}

func (s *sim) apply(i int, e Event) {
	w := &s.w[i]
	w.number, w.wait = 0, forNothing
	if _, err := w.m.Apply(e); err != nil {
		s.failf("worker %d: %v", i, err)
	}
}

// lose tells a worker that the group has ended.
func (s *sim) lose(i int) {
	if w := &s.w[i]; w.spot == atMeeting || w.m.Action() == Rejoin {
		w.wait, w.number = forGroup, 0
		return
	}
	s.apply(i, Event{Outcome: Lost})
	s.run(i)
}

func (s *sim) undertake(i int, at spot, t Task) {
	w := &s.w[i]
	w.spot, w.number = at, 0
	w.m.Undertake(t)
}

// conclude does what follows an undertaking.
func (s *sim) conclude(i int, a Action) {
	w := &s.w[i]
	switch {
	case a == Fail && w.spot == atEpochBoundary && (w.place.Epoch == s.p.epochs || w.stopped): // the others have left
		s.end(i)
	case a == Fail && s.left:
		s.logf("worker %d finds that the others have left", i)
		w.ended = true
	case a == Move && w.m.State().Inside:
		s.undertake(i, atMoved, Task{Kind: Boundary})
	case a == Move:
		s.end(i)
	case a == Proceed || a == Skip || a == Stop && w.spot == atStep:
		s.proceed(i, a)
	default:
		s.failf("worker %d: %v ended with %v", i, w.spot, a)
	}
}

func (s *sim) proceed(i int, a Action) {
	w := &s.w[i]
	switch w.spot {
	case atEnter:
		if !w.m.State().Inside {
			s.end(i)
			return
		}
		s.goOn(i)
	case atMoved:
		s.goOn(i)
	case atStep:
		if a != Stop {
			w.place.Done++
			w.steps++
		}
		if a == Stop && w.steps == 0 {
			s.epoch(i)
		} else if a == Stop || w.place.Done%s.p.execution == 0 || w.place.Done == s.p.steps {
			w.steps = 0
			s.tell(i)
			s.undertake(i, atBoundary, Task{Kind: Boundary})
		} else {
			s.step(i)
		}
	case atBoundary:
		if w.flag || w.place.Done == s.p.steps {
			s.epoch(i)
		} else {
			s.step(i)
		}
	case atEpoch:
		w.place = Place{w.place.Epoch + 1, 0}
		w.m.EndEpoch()
		s.undertake(i, atEpochBoundary, Task{Kind: Boundary})
	case atEpochBoundary:
		if w.flag || w.place.Epoch == s.p.epochs {
			s.end(i)
		} else {
			s.step(i)
		}
	case atAside:
		s.asides(i)
	}
}

// goOn goes on at the place that a worker was given.
func (s *sim) goOn(i int) {
	w := &s.w[i]
	w.steps = 0
	switch {
	case w.flag && w.place.Done == 0 || w.place.Epoch >= s.p.epochs:
		s.end(i)
	case w.flag || w.place.Done >= s.p.steps:
		s.epoch(i)
	default:
		s.step(i)
	}
}

func (s *sim) step(i int) {
	w := &s.w[i]
	s.undertake(i, atStep, Task{Kind: Step, Next: Place{w.place.Epoch, w.place.Done + 1}})
}

func (s *sim) epoch(i int) {
	w := &s.w[i]
	s.undertake(i, atEpoch, Task{Kind: Epoch, Next: Place{w.place.Epoch + 1, 0}})
}

// tell is what callbacks hear after the steps of an execution: never twice of a batch, and not of one that the weights
// do not know.
func (s *sim) tell(i int) {
	w := &s.w[i]
	last := batch{w.fit, w.place.Epoch, w.place.Done - 1}
	if w.weights == 0 || s.p.plan[w.weights-1] != last || w.told >= w.weights {
		s.failf("the callbacks of worker %d hear of %v after %d batches, and have heard of %d", i, last, w.weights, w.told)
	}
	w.told = w.weights
	if stop := s.p.stop; stop.fit == last.fit && stop.epoch == last.epoch && last.step >= stop.step {
		w.stopped = true
	}
}

func (s *sim) end(i int) {
	w := &s.w[i]
	w.m.EndFit()
	w.aside = 0
	s.asides(i)
}

func (s *sim) asides(i int) {
	w := &s.w[i]
	if w.aside++; w.aside <= s.p.asides {
		s.undertake(i, atAside, Task{Kind: Aside})
		return
	}
	s.enter(i, false)
}

func (s *sim) enter(i int, joining bool) {
	w := &s.w[i]
	if w.fit++; w.fit > s.p.fits {
		w.spot, w.ended, s.left = atEnd, true, true
		return
	}
	w.flag, w.stopped, w.place = false, false, Place{}
	s.undertake(i, atEnter, Task{Kind: Enter, Config: "all", Joining: joining})
}

// call is the collective that a worker waits for.
func (s *sim) call(i int) call {
	w := &s.w[i]
	if w.spot == atMeeting || w.m.Action() == Rejoin {
		return call{constructor: true}
	}
	c := call{action: w.m.Action(), number: w.number}
	switch c.action {
	case Agree: // whatever it is for
		c.fit, c.place = w.fit, w.place
	case Attempt:
		c.kind, c.fit, c.place = w.m.task.Kind, w.fit, w.place
		if c.kind == Aside {
			c.place, c.aside = Place{}, w.aside
		}
	}
	return c
}

// collectives is how many an action has.
func (s *sim) collectives(c call) int {
	switch {
	case c.constructor || c.action == Agree || c.kind == Aside:
		return 1
	case c.action == Transfer:
		for i := range s.p.workers {
			if s.behind[i] {
				return 2
			}
		}
		return 1
	}
	return 2
}

// complete ends the collective that all members wait for: it comes to its end on some of them, and where that are not
// all the group has ended.
func (s *sim) complete(whole uint, seen bool) {
	c, stop := call{}, false
	before := s.world
	first := true
	for i := range s.p.workers {
		if !s.member[i] {
			continue
		}
		w := &s.w[i]
		if first {
			c, first = s.call(i), false
		}
		if got := s.call(i); got != c {
			s.failf("worker %d does %v, another one %v", i, got, c)
			return
		}
		stop = stop || w.stopped
	}
	s.sameEverywhere(c)
	for i := range s.p.workers {
		if s.err != nil {
			return
		}
		switch {
		case !s.member[i]:
		case whole>>i&1 == 0:
			s.lose(i)
		default:
			s.finish(i, c, &before, stop, seen)
		}
	}
}

// sameEverywhere checks that, but for those that are about to be given the state, all members have come equally far.
func (s *sim) sameEverywhere(c call) {
	if c.constructor || c.action == Transfer {
		return
	}
	at := -1
	for i := range s.p.workers {
		switch {
		case !s.member[i]:
		case at < 0:
			at = i
		case s.w[i].weights != s.w[at].weights || s.w[i].m.State().Position != s.w[at].m.State().Position:
			s.failf("worker %d is at position %d with %d batches in %v, worker %d at %d with %d", i, s.w[i].m.State().Position, s.w[i].weights, c,
				at, s.w[at].m.State().Position, s.w[at].weights)
		}
	}
}

// finish ends a collective on one worker.
func (s *sim) finish(i int, c call, before *world, stop, seen bool) {
	w := &s.w[i]
	w.wait = forNothing
	if w.number+1 < s.collectives(c) {
		w.number++
		s.run(i)
		return
	}
	var e Event
	switch {
	case c.constructor:
		if w.has = true; w.spot == atMeeting {
			s.enter(i, false)
			s.run(i)
			return
		}
		e.Outcome = Kept
	case c.action == Agree:
		w.stopped = w.stopped || stop
		if w.flag = stop; seen {
			e.Outcome = Waiting
		} else if stop {
			e.Outcome = Stopping
		}
	case c.action == Transfer:
		if e.Outcome = Kept; before.behind[i] {
			from := &before.w[before.source]
			e.Outcome, e.State = Took, from.m.State()
			e.State.Place = from.place
			w.has, w.weights, w.gotWeights, w.gotStopped = true, from.weights, from.weights, from.stopped
		}
	case c.kind == Enter:
		w.place = Place{}
	case c.kind == Step:
		b := batch{w.fit, w.place.Epoch, w.place.Done}
		if w.weights >= len(s.p.plan) || s.p.plan[w.weights] != b {
			s.failf("worker %d trains on %+v after %d batches", i, b, w.weights)
		}
		w.weights++
	}
	s.apply(i, e)
	s.run(i)
}

// form makes a group of all that wait and are not left out.
func (s *sim) form() {
	s.source, s.broken = -1, false
	var step uint64
	for i := range s.p.workers {
		w := &s.w[i]
		if s.member[i] = w.waits(); s.member[i] && w.has && (s.source < 0 || w.m.State().Position > step) {
			s.source, step = i, w.m.State().Position
		}
	}
	for i := range s.p.workers {
		w := &s.w[i]
		s.behind[i] = s.member[i] && s.source >= 0 && (!w.has || w.m.State().Position < step)
	}
	for i := range s.p.workers {
		if w := &s.w[i]; s.member[i] {
			w.wait = forNothing
			switch {
			case w.spot == atMeeting && s.source >= 0:
				s.enter(i, true)
			case w.spot == atMeeting || w.m.Action() == Rejoin && s.source < 0:
				w.wait = forCall
			default:
				s.apply(i, Event{})
			}
		}
	}
	for i := range s.p.workers {
		if s.member[i] {
			s.run(i)
		}
	}
}

// waits reports whether a worker waits for a group and is there.
func (w *worker) waits() bool { return w.here && !w.away && !w.ended && w.wait == forGroup }
