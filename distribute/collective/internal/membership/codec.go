package membership

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// Version is the version of the protocol; workers of different versions do not talk to each other.
const Version = 5

// Bounds of data from outside.
const (
	MaxTasks   = 1024    // in a cluster
	MaxText    = 4096    // bytes of a description
	MaxNote    = 512     // bytes of a note
	MaxAbout   = 512     // bytes of what a worker says of itself
	MaxMessage = 4 << 20 // bytes of a state
	maxAnswers = 8
)

// Errors of Decode.
var (
	ErrVersion   = errors.New("another version of the protocol")
	ErrJob       = errors.New("a message of another job")
	ErrMalformed = errors.New("malformed message")
)

type writer struct{ b []byte }

func (w *writer) number(n uint64) { w.b = binary.AppendUvarint(w.b, n) }

//go:noinline
func (w *writer) task(n int) { w.number(uint64(n)) }
func (w *writer) tasks(list []int) {
	w.task(len(list))
	for _, task := range list {
		w.task(task)
	}
}
func (w *writer) trials(list []Trial) {
	w.task(len(list))
	for _, t := range list {
		w.task(t.Task)
		w.word(uint64(t.Note))
	}
}
func (w *writer) word(x uint64) { w.b = binary.LittleEndian.AppendUint64(w.b, x) }
func (w *writer) flag(f bool) {
	if f {
		w.b = append(w.b, 1)
	} else {
		w.b = append(w.b, 0)
	}
}

//go:noinline
func (w *writer) text(s string, limit int) {
	s = s[:min(len(s), limit)]
	w.task(len(s))
	w.b = append(w.b, s...)
}
func (w *writer) id(id ViewID) {
	w.number(id.Generation)
	w.word(id.Digest)
}
func (w *writer) accusations(list []Accusation) {
	w.task(len(list))
	for _, a := range list {
		w.task(a.By)
		w.task(a.Who)
		w.b = append(w.b, byte(a.Reason))
		w.text(a.Detail, MaxText)
	}
}
func (w *writer) call(c Call) {
	w.number(c.Sequence)
	w.text(c.Description, MaxText)
}
func (w *writer) view(v *View) {
	w.id(v.ID)
	w.flag(v.Shared)
	w.task(len(v.Members))
	for _, m := range v.Members {
		w.task(m.Task)
		w.number(m.Incarnation)
		w.flag(m.HasState)
		w.number(m.Step)
		w.word(uint64(m.Note))
		w.text(m.About, MaxAbout)
	}
}
func (w *writer) verdict(v *Verdict) {
	w.id(v.View)
	w.accusations(v.Removed)
	w.flag(v.Difference != nil)
	if d := v.Difference; d != nil {
		w.number(d.Sequence)
		w.task(d.A)
		w.task(d.B)
		w.text(d.CallA, MaxText)
		w.text(d.CallB, MaxText)
	}
}

// Append encodes a state of a job after b.
func Append(b []byte, job uint64, s *State) []byte {
	w := &writer{append(b, Version)}
	w.word(job)
	w.task(s.Task)
	w.number(s.Incarnation)
	w.number(s.Serial)
	w.b = append(w.b, byte(s.Phase))
	w.id(s.View)
	w.task(s.ViewSize)
	w.flag(s.HasState)
	w.number(s.Step)
	w.text(string(s.Note), MaxNote)
	w.text(s.About, MaxAbout)
	w.text(s.Why, MaxText)
	w.trials(s.Reach)
	w.trials(s.Beyond)
	w.tasks(s.Unheard)
	w.number(s.Promised)
	w.id(s.Accepted)
	w.flag(s.Proposal != nil)
	if s.Proposal != nil {
		w.view(s.Proposal)
	}
	w.accusations(s.Accusations)
	w.flag(s.Verdict != nil)
	if s.Verdict != nil {
		w.verdict(s.Verdict)
	}
	w.number(s.Completed)
	w.flag(s.Settling)
	w.flag(s.Waiting != nil)
	if s.Waiting != nil {
		w.call(*s.Waiting)
	}
	w.number(s.Blocked)
	w.task(min(len(s.Answers), maxAnswers))
	for _, c := range s.Answers[:min(len(s.Answers), maxAnswers)] {
		w.call(c)
	}
	return w.b
}

type reader struct {
	b   []byte
	bad bool
}

func (r *reader) fail() { r.bad, r.b = true, nil }
func (r *reader) number() uint64 {
	n, used := binary.Uvarint(r.b)
	if used <= 0 {
		r.fail()
		return 0
	}
	r.b = r.b[used:]
	return n
}

// upTo reads a number that must not exceed limit.
func (r *reader) upTo(limit int) int {
	n := r.number()
	if n > uint64(limit) {
		r.fail()
		return 0
	}
	return int(n)
}
func (r *reader) task() int { return r.upTo(MaxTasks - 1) }
func (r *reader) byte(limit byte) byte {
	if len(r.b) == 0 || r.b[0] >= limit {
		r.fail()
		return 0
	}
	x := r.b[0]
	r.b = r.b[1:]
	return x
}
func (r *reader) flag() bool { return r.byte(2) == 1 }
func (r *reader) text(limit int) string {
	n := r.upTo(limit)
	if n > len(r.b) {
		r.fail()
		return ""
	}
	s := string(r.b[:n])
	r.b = r.b[n:]
	return s
}
func (r *reader) word() uint64 {
	if len(r.b) < 8 {
		r.fail()
		return 0
	}
	x := binary.LittleEndian.Uint64(r.b)
	r.b = r.b[8:]
	return x
}
func (r *reader) id() ViewID { return ViewID{r.number(), r.word()} }

// count reads the length of a list whose elements take at least size bytes each, so that a short message cannot ask for
// much memory.
func (r *reader) count(limit, size int) int {
	n := r.upTo(limit)
	if n*size > len(r.b) {
		r.fail()
		return 0
	}
	return n
}
func (r *reader) tasks() []int {
	n := r.count(MaxTasks, 1)
	if n == 0 {
		return nil
	}
	list := make([]int, n)
	for i := range list {
		list[i] = r.task()
	}
	return list
}
func (r *reader) trials() []Trial {
	n := r.count(MaxTasks, 9)
	if n == 0 {
		return nil
	}
	list := make([]Trial, n)
	for i := range list {
		list[i] = Trial{r.task(), NoteID(r.word())}
	}
	return list
}
func (r *reader) accusations() []Accusation {
	n := r.count(MaxTasks*MaxTasks, 4)
	if n == 0 {
		return nil
	}
	list := make([]Accusation, n)
	for i := range list {
		list[i] = Accusation{r.task(), r.task(), Reason(r.byte(byte(reasonCount))), r.text(MaxText)}
	}
	return list
}
func (r *reader) call() Call { return Call{r.number(), r.text(MaxText)} }
func (r *reader) view() *View {
	v := &View{ID: r.id(), Shared: r.flag()}
	v.Members = make([]Member, r.count(MaxTasks, 13))
	for i := range v.Members {
		v.Members[i] = Member{r.task(), r.number(), r.flag(), r.number(), NoteID(r.word()), r.text(MaxAbout)}
		if i > 0 && v.Members[i].Task <= v.Members[i-1].Task {
			r.fail()
		}
	}
	return v
}
func (r *reader) verdict() *Verdict {
	v := &Verdict{View: r.id(), Removed: r.accusations()}
	if r.flag() {
		v.Difference = &Difference{r.number(), r.task(), r.task(), r.text(MaxText), r.text(MaxText)}
	}
	return v
}

// Decode reads a state of the given job.
func Decode(b []byte, job uint64) (*State, error) {
	if len(b) > MaxMessage {
		return nil, fmt.Errorf("%w: %d bytes, at most %d are read", ErrMalformed, len(b), MaxMessage)
	}
	if len(b) == 0 {
		return nil, fmt.Errorf("%w: empty", ErrMalformed)
	}
	if b[0] != Version {
		return nil, fmt.Errorf("%w: %d instead of %d", ErrVersion, b[0], Version)
	}
	r := &reader{b: b[1:]}
	if r.word() != job && !r.bad {
		return nil, ErrJob
	}
	s := &State{Task: r.task(), Incarnation: r.number(), Serial: r.number(), Phase: Phase(r.byte(byte(phaseCount))), View: r.id(), ViewSize: r.upTo(MaxTasks),
		HasState: r.flag(), Step: r.number(), Note: []byte(r.text(MaxNote)), About: r.text(MaxAbout), Why: r.text(MaxText)}
	s.Reach, s.Beyond, s.Unheard = r.trials(), r.trials(), r.tasks()
	s.Promised, s.Accepted = r.number(), r.id()
	if r.flag() {
		s.Proposal = r.view()
	}
	s.Accusations = r.accusations()
	if r.flag() {
		s.Verdict = r.verdict()
	}
	s.Completed, s.Settling = r.number(), r.flag()
	if r.flag() {
		c := r.call()
		s.Waiting = &c
	}
	s.Blocked = r.number()
	for range r.upTo(maxAnswers) {
		s.Answers = append(s.Answers, r.call())
	}
	if r.bad || len(r.b) != 0 {
		return nil, ErrMalformed
	}
	return s, nil
}
