package protocol

import (
	"errors"
	"fmt"
)

// Holder is a process that holds a copy. A restarted process is another holder, because its copy is gone.
type Holder struct {
	Server  int // -1: nobody
	Process uint64
}

// Nobody holds no copy.
var Nobody = Holder{Server: -1}

// View says which processes hold the copies of a group of tables. The primary answers; everything that it has
// acknowledged is on the backup too, if there is one. Only the coordinator makes new views. A process that knows a
// later view does not follow one that knows an earlier view.
type View struct {
	Term, Number    uint64 // of the coordinator, and among its views
	Turn            uint64 // counts changes of the holders
	Lineage         uint64 // of the state
	Primary, Backup Holder
	Fresh           bool // the first one: both copies begin empty
}

// After reports whether a view is later than another one.
func (v View) After(o View) bool {
	return v.Term > o.Term || v.Term == o.Term && v.Number > o.Number
}

// Newer reports whether a view has later holders than another one, or is a later one with the same.
func (v View) Newer(o View) bool { return v.Turn > o.Turn || v.Turn == o.Turn && v.After(o) }

// Encode appends the view.
func (v *View) Encode(w *Writer) {
	w.Uint(v.Term)
	w.Uint(v.Number)
	w.Uint(v.Turn)
	w.Uint(v.Lineage)
	for _, h := range []Holder{v.Primary, v.Backup} {
		w.Uint(uint64(h.Server + 1))
		w.Uint(h.Process)
	}
	w.Bool(v.Fresh)
}

// Decode reads what Encode writes.
func (v *View) Decode(r *Reader) {
	v.Term, v.Number, v.Turn, v.Lineage = r.Uint(), r.Uint(), r.Uint(), r.Uint()
	for _, h := range []*Holder{&v.Primary, &v.Backup} {
		*h = Holder{r.Int() - 1, r.Uint()}
	}
	v.Fresh = r.Bool()
}

// ErrView is the error for messages of another view; ask for the current one.
var ErrView = errors.New("parameterserver: another server answers for these variables")

// Replica is one copy of a group of tables, without clock and network.
type Replica struct {
	self      Holder
	limits    Limits
	view      View
	state     *State
	complete  bool   // the state has all that was acknowledged in this view
	position  uint64 // commands that the state has executed
	confirmed bool   // the backup is complete: commands are enough for it
}

// NewReplica returns a copy that belongs to no view yet.
func NewReplica(self Holder, l Limits) *Replica {
	return &Replica{self: self, limits: l, view: View{Primary: Nobody, Backup: Nobody}, state: NewState(l)}
}

// View returns the latest view that the copy knows.
func (r *Replica) View() View { return r.view }

// State is the copy; see Complete.
func (r *Replica) State() *State { return r.state }

// Complete reports whether the copy has everything that was acknowledged.
func (r *Replica) Complete() bool { return r.complete }

// Adopt takes a later view, and reports whether it was one. What a copy has without being a member of the view, or as
// one that may have executed more than was acknowledged, is dropped.
func (r *Replica) Adopt(v View) bool {
	old := r.view
	if !v.After(old) || v.Lineage == old.Lineage && v.Turn < old.Turn { // a coordinator that has not heard of a turn learns of it from reports
		return false
	}
	r.view = v
	same := old.Turn == v.Turn && old.Lineage == v.Lineage
	switch {
	case v.Fresh:
		r.drop()
		r.complete = r.self == v.Primary || r.self == v.Backup
		r.confirmed = true
	case r.self == v.Primary && r.complete && old.Lineage == v.Lineage:
		r.confirmed = r.confirmed && same
	case r.self == v.Backup && r.complete && same:
		// it goes on following the same primary
	default:
		r.drop()
	}
	return true
}

func (r *Replica) drop() {
	r.state, r.complete, r.position, r.confirmed = NewState(r.limits), false, 0, false
}

// Serves returns the reason why the copy must not answer a process that knows the given view; nil if it may.
func (r *Replica) Serves(v View) error {
	if v.After(r.view) || r.self != r.view.Primary || !r.complete {
		return fmt.Errorf("%w: this one knows of term %d, view %d", ErrView, r.view.Term, r.view.Number)
	}
	return nil
}

// Lags reports whether the backup needs the whole state before the next command.
func (r *Replica) Lags() bool { return r.view.Backup != Nobody && !r.confirmed }

// Confirm notes that the backup has received the state, in a view.
func (r *Replica) Confirm(v View) {
	if v == r.view && r.self == v.Primary {
		r.confirmed = true
	}
}

// Advance counts a command that the primary has executed, and returns its number. It may be acknowledged when the
// backup of the view, if there is one, has accepted it, or a later view has none.
func (r *Replica) Advance() uint64 {
	r.position++
	return r.position
}

// Accept executes a command that the primary has executed.
func (r *Replica) Accept(v View, position uint64, c Command) error {
	switch {
	case v != r.view || r.self != v.Backup || !r.complete:
		return fmt.Errorf("%w: a command of term %d, view %d; this copy knows of term %d, view %d", ErrView, v.Term, v.Number, r.view.Term, r.view.Number)
	case position <= r.position:
		return nil // it was accepted before
	case position > r.position+1:
		return fmt.Errorf("parameterserver: command %d comes after command %d", position, r.position)
	}
	if _, err := r.state.Execute(c); err != nil {
		return fmt.Errorf("parameterserver: the backup cannot do what its primary did: %w", err)
	}
	r.position = position
	return nil
}

// Position counts the commands that were executed.
func (r *Replica) Position() uint64 { return r.position }

// Restore receives the state of the primary after position commands.
func (r *Replica) Restore(v View, position uint64, s *State) error {
	if v != r.view || r.self != v.Backup {
		return fmt.Errorf("%w: a state of term %d, view %d; this copy knows of term %d, view %d", ErrView, v.Term, v.Number, r.view.Term, r.view.Number)
	}
	if r.complete && position < r.position {
		return nil // an earlier message
	}
	r.state, r.position, r.complete = s, position, true
	return nil
}

// Report is a server's report on its copies.
type Report struct {
	Process uint64
	Views   []View // the latest of each group that it has heard of
	Held    []bool // whether it has a complete copy of the group, in that view
}

// Latest is the latest view of a group that servers report; reports are nil for those that are lost.
func Latest(reports []*Report, group int) View {
	v := View{Primary: Nobody, Backup: Nobody}
	for _, r := range reports {
		if r != nil && r.Views[group].Newer(v) {
			v = r.Views[group]
		}
	}
	return v
}

// Arbiter decides on views, for the coordinator. Group i is on server i and the next one.
type Arbiter struct {
	term  uint64
	views []View
	asked []uint64 // number of the view by which a backup without a complete copy is asked once more, for each group
}

// NewArbiter begins the term of a coordinator with what the servers report. lineage is a new random number, for a job
// that begins.
func NewArbiter(term, lineage uint64, reports []*Report) (*Arbiter, error) {
	n := len(reports)
	a := &Arbiter{term: term, views: make([]View, n), asked: make([]uint64, n)}
	known, all := 0, true
	for group := range a.views {
		v := &a.views[group]
		*v = Latest(reports, group)
		if v.Lineage != 0 {
			known++
		}
		all = all && reports[group] != nil
	}
	switch {
	case known == 0 && !all:
		return nil, errors.New("parameterserver: a job begins when all of its servers are there")
	case known > 0 && known < n:
		return nil, ErrLost
	}
	for group := range a.views {
		v := &a.views[group]
		if v.Fresh = known == 0; v.Fresh {
			other := (group + 1) % n
			*v = View{Lineage: lineage | 1, Primary: Holder{group, reports[group].Process}, Backup: Holder{other, reports[other].Process}, Turn: 1, Fresh: true}
		}
		v.Term, v.Number = term, 1
	}
	return a, nil
}

// ErrLost says that no copy of some variables is left.
var ErrLost = errors.New("parameterserver: both copies of variables are lost; start the whole job again from a checkpoint")

// Views are the present ones.
func (a *Arbiter) Views() []View { return a.views }

// Decide makes new views if a holder is gone or missing. reports are nil for servers that are lost. It reports whether
// views changed, and returns ErrLost if no copy is left.
func (a *Arbiter) Decide(reports []*Report) (changed bool, err error) {
	there := func(h Holder) bool {
		return h.Server >= 0 && reports[h.Server] != nil && reports[h.Server].Process == h.Process
	}
	n := len(reports)
	for group := range a.views {
		v := &a.views[group]
		for _, r := range reports {
			if r != nil && r.Views[group].Lineage == v.Lineage && r.Views[group].Turn > v.Turn { // of an earlier coordinator
				term, number := v.Term, v.Number
				*v = r.Views[group]
				v.Term, v.Number, changed = term, number+1, true
			}
		}
		primary, backup := there(v.Primary), there(v.Backup)
		next := *v
		next.Fresh = false
		switch {
		case !primary && backup:
			r := reports[v.Backup.Server]
			if r.Views[group] != *v {
				continue // it has not heard of the view yet
			}
			if !r.Held[group] { // the primary died before it had given its state away, or this report is of the time before
				if a.asked[group] != v.Number {
					v.Number++
					a.asked[group], changed = v.Number, true
				} else if reports[v.Primary.Server] != nil {
					err = ErrLost
				}
				continue
			}
			next.Primary, next.Backup = v.Backup, Nobody
		case !primary:
			if reports[v.Primary.Server] != nil && (v.Backup == Nobody || reports[v.Backup.Server] != nil) {
				err = ErrLost // others have come back in their places
			}
			continue
		case v.Backup != Nobody && !backup:
			next.Backup = Nobody
		case v.Backup == Nobody:
			other := group
			if v.Primary.Server == group {
				other = (group + 1) % n
			}
			if reports[other] == nil {
				continue
			}
			next.Backup = Holder{other, reports[other].Process}
		default:
			continue
		}
		next.Number++
		next.Turn++
		*v, changed = next, true
	}
	return changed, err
}
