package recovery

import "fmt"

// batch names what a step trains on.
type batch struct{ fit, epoch, step int }

// program is what all workers run.
type program struct {
	workers, fits, epochs, steps int
	execution                    int   // steps between two boundaries
	asides                       int   // after each Fit
	stop                         batch // after which training is stopped by callbacks; the zero value: never
	plan                         []batch
}

func (p program) planned() *program {
	for fit := 1; fit <= p.fits; fit++ {
	epochs:
		for epoch := range p.epochs {
			for step := range p.steps {
				p.plan = append(p.plan, batch{fit, epoch, step})
				// all stop at the next boundary
				if s := p.stop; s.fit == fit && s.epoch == epoch && step >= s.step && ((step+1)%p.execution == 0 || step+1 == p.steps) {
					break epochs
				}
			}
		}
	}
	return &p
}

// spot is what a worker has undertaken.
type spot uint8

const (
	atMeeting spot = iota // making the strategy
	atEnter
	atStep
	atBoundary      // after the steps of an execution
	atEpoch         // end of one
	atEpochBoundary // after its callbacks
	atMoved         // the boundary after a move
	atAside
	atEnd
)

// wait is what a worker needs from the others.
type wait uint8

const (
	forNothing wait = iota
	forCall
	forGroup
)

// call names a collective. All members of a group must make the same one.
type call struct {
	action      Action
	kind        Kind
	number      int // in the action
	fit         int
	place       Place
	aside       int
	constructor bool
}

func (c call) String() string {
	if c.constructor {
		return "the constructor's call"
	}
	return fmt.Sprintf("%v %v, call %d, Fit %d at %v, aside %d", c.action, c.kind, c.number, c.fit, c.place, c.aside)
}

type worker struct {
	here, away, ended bool
	m                 Machine
	has               bool // state
	spot              spot
	wait              wait
	number            int // of the next collective in the action
	fit               int
	place             Place
	aside             int
	weights           int  // batches that they were trained on
	told              int  // batches that callbacks were told of
	stopped, flag     bool // asked to stop; all have agreed to
	steps             int  // of the execution so far

	gotWeights int
	gotStopped bool
}

type world struct {
	w      [most]worker
	member [most]bool
	behind [most]bool
	source int
	broken bool
	left   bool // somebody has come to the end
	faults int  // that may yet happen
}
