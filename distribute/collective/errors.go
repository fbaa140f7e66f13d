package collective

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gokeras/gokeras/distribute/cluster"
	"github.com/gokeras/gokeras/distribute/collective/internal/membership"
)

// ErrClosed is returned by all methods of a closed group.
var ErrClosed = errors.New("collective: the group is closed")

// ErrLeft is in the error of Join if there is no worker to wait for, because the others have left the job in good
// order.
var ErrLeft = errors.New("the others have left the job in good order, so it is over")

// Lost names a worker that is no longer in the group, and why.
type Lost struct {
	Task    cluster.Task
	Address string
	Reason  string // "connection lost", "silent", "restarted", "stalled", "left", "withdrew", ...
	Detail  string
	About   string // what it has told of itself when it joined; see Options.About
}

// String returns one line of text.
func (l Lost) String() string {
	text := fmt.Sprintf("%v (%s): %s", l.Task, l.Address, l.Reason)
	if l.Detail != "" {
		text += ": " + l.Detail
	}
	return text
}

// MemberError says that the group has ended because members are gone. All survivors get the same one. Regroup forms the
// next group.
type MemberError struct {
	Generation uint64
	Lost       []Lost
}

// InGoodOrder reports whether all lost members have left the job by Close.
func (e *MemberError) InGoodOrder() bool {
	return !slices.ContainsFunc(e.Lost, func(l Lost) bool { return l.Reason != membership.Departed.String() })
}

// Error names every lost worker.
func (e *MemberError) Error() string {
	lines := make([]string, len(e.Lost))
	for i, l := range e.Lost {
		lines[i] = l.String()
	}
	return fmt.Sprintf("collective: group %d lost %s%s", e.Generation, strings.Join(lines, "; "), whereabouts(e.Lost))
}

// whereabouts returns what is known about the listed workers, as text to follow their list.
func whereabouts(list []Lost) string {
	text := ""
	for i, l := range list {
		said := func(other Lost) bool { return other.Task == l.Task }
		if l.About != "" && !slices.ContainsFunc(list[:i], said) {
			text += fmt.Sprintf("; %v runs %s", l.Task, l.About)
		}
	}
	return text
}

// ExpelledError says that the others have removed this worker from the group, or that it left. Regroup asks to be
// readmitted.
type ExpelledError struct {
	Generation uint64
	Own        Lost
	Unreached  []Lost // where this worker lost most of the others: whom it cannot reach, and why
}

// Error says why.
func (e *ExpelledError) Error() string {
	text := e.Own.String()
	for _, l := range e.Unreached {
		text += "; " + l.String()
	}
	return fmt.Sprintf("collective: this worker, %s, is no longer in group %d%s; Regroup to be taken back", text, e.Generation,
		whereabouts(append([]Lost{e.Own}, e.Unreached...)))
}

// OrderError says that two workers made different calls as the same collective: they differ in operation, type, shape,
// name or program. All workers get the same error, and all can continue: the next collective forms the group again.
type OrderError struct {
	Generation uint64
	Sequence   uint64 // which collective of the group, counted from 1
	A, B       cluster.Task
	AddressA   string // where A listens
	AddressB   string
	CallA      string
	CallB      string
	AboutA     string // what A has told of itself when it joined; see Options.About
	AboutB     string
}

// Error shows both workers, with their addresses, and both calls.
func (e *OrderError) Error() string {
	return fmt.Sprintf("collective: workers disagree about collective %d: %v (%s) calls %s, but %v (%s) calls %s%s", e.Sequence, e.A, e.AddressA, e.CallA, e.B, e.AddressB, e.CallB,
		whereabouts([]Lost{{Task: e.A, About: e.AboutA}, {Task: e.B, About: e.AboutB}}))
}

// ProgramsDiffer reports whether both workers made the same call, with different programs.
func (e *OrderError) ProgramsDiffer() bool {
	a, _, in := strings.Cut(e.CallA, inProgram)
	b, _, too := strings.Cut(e.CallB, inProgram)
	return in && too && a == b
}

// FailedError says that a worker could not continue and has reported why: a full disk, bad data. All workers get it. It
// wraps an *OrderError, because the others made a different call.
type FailedError struct {
	Task    cluster.Task
	Address string // where it listens
	Why     string
	*OrderError
}

// Error names the worker, with its address, and the cause.
func (e *FailedError) Error() string {
	about := e.AboutA
	if e.OrderError.B == e.Task {
		about = e.AboutB
	}
	return fmt.Sprintf("collective: %v (%s) failed: %s%s", e.Task, e.Address, e.Why, whereabouts([]Lost{{Task: e.Task, About: about}}))
}

// ProgramsDiffer is false: the worker has made another call.
func (e *FailedError) ProgramsDiffer() bool { return false }

// Unwrap returns the OrderError: the difference between the workers' calls.
func (e *FailedError) Unwrap() error { return e.OrderError }

// failed turns an OrderError into a FailedError if one of its calls is the report of a failure.
func failed(e *OrderError) error {
	for _, side := range []struct {
		task          cluster.Task
		address, call string
	}{{e.A, e.AddressA, e.CallA}, {e.B, e.AddressB, e.CallB}} {
		quoted, found := strings.CutPrefix(side.call, failureWord+" ")
		if !found {
			continue
		}
		if quoted, err := strconv.QuotedPrefix(quoted); err == nil {
			if why, err := strconv.Unquote(quoted); err == nil {
				return &FailedError{side.task, side.address, why, e}
			}
		}
	}
	return e
}

// JoinError says that no group formed in time.
type JoinError struct {
	Missing []Lost // those that did not come, with what was last seen of them
	Present []cluster.Task
	Min     int
	After   time.Duration

	tells bool // the workers of this job tell about themselves
}

const (
	didNotCome = "did not come"
	gaveUp     = "gave up"
	foreign    = "belongs to something else"
)

// Error names the missing workers, with addresses.
func (e *JoinError) Error() string {
	lines := make([]string, len(e.Missing))
	for i, l := range e.Missing {
		lines[i] = l.String()
	}
	text := fmt.Sprintf("collective: no group of at least %d workers within %v: present %v; missing %s%s", e.Min, e.After, e.Present, strings.Join(lines, "; "), whereabouts(e.Missing))
	if slices.ContainsFunc(e.Missing, func(l Lost) bool { return l.Reason == foreign }) {
		text += "; give all workers the same cluster, Options.Job, Options.Security and version of the program"
	}
	for _, l := range e.Missing {
		if e.tells && l.About == "" && l.Reason == didNotCome {
			text += fmt.Sprintf("; %v has never joined, so what it runs on is not known", l.Task)
		}
	}
	return text
}

// explanation is what a worker that gives up tells those that still wait: who is missing, without workers that gave up
// before it.
func (e *JoinError) explanation() string {
	var lines []string
	for _, l := range e.Missing {
		if l.Reason != gaveUp || !strings.HasPrefix(l.Detail, inVain) {
			lines = append(lines, l.String())
		}
	}
	return bounded(fmt.Sprintf("%s%v it missed %s", inVain, e.After, strings.Join(lines, "; ")))
}

// inVain is the beginning of the explanation of a worker that has waited for a group.
const inVain = "within "
