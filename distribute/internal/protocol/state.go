package protocol

import (
	"errors"
	"fmt"
	"maps"
	"slices"
)

// Limits bound the memory of a server.
type Limits struct {
	MaxTables int // 0: 2^16
	MaxBytes  int // of values and optimizer state; 0: no bound here

	TableMemory    int    // of each dynamic table, the rest of which is put on disk; 0: all rows are in memory
	SpillDirectory string // where that is
}

const (
	maxTables = 1 << 16
	maxNotes  = 1 << 18
	maxNote   = 1 << 20
	allNotes  = 64 << 20

	snapshotVersion = 5
)

// State is the state of a parameter server. Only Execute changes it, one call at a time; between changes it may be read
// freely.
type State struct {
	limits Limits
	ledger Ledger
	tables []*Table
	byName map[string]uint32
	notes  map[string][]byte
	noted  int // bytes of notes
	round  round
	bytes  int

	Staleness Staleness // of the gradients since the server began
}

// NewState returns an empty server.
func NewState(l Limits) *State {
	if l.MaxTables == 0 {
		l.MaxTables = maxTables
	}
	return &State{limits: l, byName: map[string]uint32{}, notes: map[string][]byte{}}
}

// Term returns the coordinator's term; 0 if there was no coordinator.
func (s *State) Term() uint64 { return s.ledger.term }

// Tables lists the tables by number.
func (s *State) Tables() []*Table { return s.tables }

// Table returns a table by number.
func (s *State) Table(number uint32) (*Table, error) {
	if int(number) >= len(s.tables) {
		return nil, fmt.Errorf("parameterserver: there is no table %d; there are %d", number, len(s.tables))
	}
	return s.tables[number], nil
}

// Find returns the number of a table.
func (s *State) Find(name string) (uint32, bool) {
	n, ok := s.byName[name]
	return n, ok
}

// Settled returns the round that was applied last, and its parts that were used.
func (s *State) Settled() Settled { return Settled{s.round.settled, s.round.counted} }

// Note returns a note of the coordinator's; nil if there is none.
func (s *State) Note(key string) []byte { return s.notes[key] }

// Command changes a server.
type Command interface {
	kind() commandKind
	encode(w *Writer)
	decode(r *Reader)
	// check returns the reason why the state would refuse the command, and changes nothing.
	check(s *State) error
	execute(s *State) Reply
}

type commandKind byte

const (
	takeKind commandKind = iota + 1
	createKind
	pushKind
	noteKind
	settleKind
	putKind
	recallKind
)

// Reply is the result of a command.
type Reply struct {
	Repeated bool   // it had been executed before
	Number   uint32 // of a table that was made
}

// Take lets a coordinator take over: Term must be greater than the server's.
type Take struct{ Term uint64 }

// Create creates a table, or finds an existing one with the same definition.
type Create struct {
	Term uint64
	Definition
}

// Push holds the changes of a closure on this server, which are applied all or not at all.
type Push struct {
	Closure ClosureID
	Low     uint64 // closures of the term below this number have ended
	// Round is the number, from 1, of the synchronous training round to which the closure belongs: its updates are kept
	// until [Settle]. 0: apply at once.
	Round   uint64
	Part    int
	Updates []Update
}

// Note stores a text for the next coordinator.
type Note struct {
	Term  uint64
	Key   string
	Value []byte // nil: forget it
}

func (*Take) kind() commandKind   { return takeKind }
func (*Create) kind() commandKind { return createKind }
func (*Push) kind() commandKind   { return pushKind }
func (*Note) kind() commandKind   { return noteKind }

func (c *Take) encode(w *Writer) { w.Uint(c.Term) }
func (c *Take) decode(r *Reader) { c.Term = r.Uint() }

func (c *Take) check(s *State) error {
	if c.Term <= s.ledger.term {
		return fmt.Errorf("%w: a coordinator with term %d has taken over, received term %d", ErrStale, s.ledger.term, c.Term)
	}
	return nil
}

func (c *Take) execute(s *State) Reply {
	s.ledger.take(c.Term)
	return Reply{}
}

func (s *State) checkTerm(term uint64) error {
	if term != s.ledger.term {
		return fmt.Errorf("%w: this server's coordinator has term %d, received term %d", ErrStale, s.ledger.term, term)
	}
	return nil
}

func (c *Create) encode(w *Writer) {
	w.Uint(c.Term)
	c.Definition.Encode(w)
}

func (c *Create) decode(r *Reader) {
	c.Term = r.Uint()
	c.Definition.Decode(r)
}

func (c *Create) check(s *State) error {
	if err := s.checkTerm(c.Term); err != nil {
		return err
	}
	if err := c.Definition.Check(); err != nil {
		return err
	}
	if n, ok := s.byName[c.Name]; ok {
		if !s.tables[n].Definition.same(&c.Definition) {
			return fmt.Errorf("parameterserver: table %s exists with another shape, rule, constraint or initializer: %d rows of %d numbers with rule %v, received %d of %d with %v",
				c.Name, s.tables[n].Rows, s.tables[n].Width, s.tables[n].Rule.Kind, c.Rows, c.Width, c.Rule.Kind)
		}
		return nil
	}
	if len(s.tables) >= s.limits.MaxTables {
		return fmt.Errorf("parameterserver: table %s is one too many; a server holds at most %d", c.Name, s.limits.MaxTables)
	}
	if s.limits.MaxBytes > 0 && c.Bytes() > s.limits.MaxBytes-s.bytes {
		return fmt.Errorf("parameterserver: table %s needs %d bytes; this server holds %d already and at most %d", c.Name, c.Bytes(), s.bytes, s.limits.MaxBytes)
	}
	if c.Dynamic && s.limits.TableMemory > 0 && !CanSpill() {
		return fmt.Errorf("parameterserver: table %s: %w", c.Name, ErrNoSpill)
	}
	return nil
}

func (c *Create) execute(s *State) Reply {
	if n, ok := s.byName[c.Name]; ok {
		return Reply{Repeated: true, Number: n}
	}
	n := uint32(len(s.tables))
	s.add(newTable(c.Definition, s.limits))
	return Reply{Number: n}
}

func (s *State) add(t *Table) {
	s.byName[t.Name] = uint32(len(s.tables))
	s.tables = append(s.tables, t)
	s.bytes += t.Bytes()
}

func (c *Push) encode(w *Writer) {
	w.Uint(c.Closure.Term)
	w.Uint(c.Closure.Sequence)
	w.Uint(c.Low)
	w.Uint(c.Round)
	w.Uint(uint64(c.Part))
	w.Uint(uint64(len(c.Updates)))
	for i := range c.Updates {
		c.Updates[i].encode(w)
	}
}

func (c *Push) decode(r *Reader) {
	c.Closure, c.Low = ClosureID{r.Uint(), r.Uint()}, r.Uint()
	c.Round, c.Part = r.Uint(), r.Int()
	n := r.count(4)
	for range n {
		var u Update
		if u.decode(r); r.Err() != nil {
			return
		}
		c.Updates = append(c.Updates, u)
	}
}

func (c *Push) check(s *State) error {
	if err := s.ledger.admissible(c.Closure, c.Low); err != nil {
		return err
	}
	if s.Seen(c) {
		return nil // it will be answered as it was, also when its round is over
	}
	if err := s.round.check(c); err != nil {
		return err
	}
	for i := range c.Updates {
		t, err := s.Table(c.Updates[i].Table)
		if err != nil {
			return err
		}
		if err := c.Updates[i].check(t); err != nil {
			return err
		}
	}
	return nil
}

func (c *Push) execute(s *State) Reply {
	if fresh, err := s.ledger.Admit(c.Closure, c.Low); err != nil || !fresh {
		return Reply{Repeated: true}
	}
	if c.Round > 0 {
		s.round.add(c)
		return Reply{}
	}
	for i := range c.Updates {
		s.apply(&c.Updates[i])
	}
	return Reply{}
}

func (c *Note) encode(w *Writer) {
	w.Uint(c.Term)
	w.String(c.Key)
	w.Bytes(c.Value)
}

func (c *Note) decode(r *Reader) { c.Term, c.Key, c.Value = r.Uint(), r.String(), r.Bytes() }

func (c *Note) check(s *State) error {
	if err := s.checkTerm(c.Term); err != nil {
		return err
	}
	if len(c.Key) > maxName || len(c.Value) > maxNote || len(s.notes) >= maxNotes && s.notes[c.Key] == nil || s.noted-len(s.notes[c.Key])+len(c.Value) > allNotes {
		return fmt.Errorf("parameterserver: note %.100q of %d bytes, beside %d of %d bytes: at most %d notes of at most %d bytes, and %d bytes of all", c.Key, len(c.Value), len(s.notes), s.noted, maxNotes, maxNote, allNotes)
	}
	return nil
}

func (c *Note) execute(s *State) Reply {
	s.noted -= len(s.notes[c.Key])
	if len(c.Value) == 0 {
		delete(s.notes, c.Key)
	} else {
		s.notes[c.Key] = slices.Clone(c.Value)
		s.noted += len(c.Value)
	}
	return Reply{}
}

// Seen reports whether a command would change nothing because it was executed before; then it need not be logged.
func (s *State) Seen(c Command) bool {
	switch c := c.(type) {
	case *Push:
		_, done := s.ledger.applied[c.Closure.Sequence]
		return done
	case *Create:
		_, done := s.byName[c.Name]
		return done
	case *Settle:
		return c.Round == s.round.settled
	}
	return false
}

// Check returns the reason why a command would be refused.
func (s *State) Check(c Command) error { return c.check(s) }

// Execute executes a command; a refused one changes nothing.
func (s *State) Execute(c Command) (Reply, error) {
	if err := c.check(s); err != nil {
		return Reply{}, err
	}
	return c.execute(s), nil
}

// SizeOf returns an upper bound of the size in bytes of a large command.
func SizeOf(c Command) int {
	size := 64
	if p, ok := c.(*Push); ok {
		for i := range p.Updates {
			size += 64 + 8*len(p.Updates[i].IDs)
			if away := p.Updates[i].Away; away != nil {
				size += 32 + len(away.Note)
			} else {
				size += 4 * len(p.Updates[i].Values)
			}
			for _, name := range p.Updates[i].Names {
				size += 10 + len(name)
			}
		}
	}
	if p, ok := c.(*Recall); ok {
		for _, slot := range p.Slots {
			size += 16 + 4*len(slot)
		}
	}
	if p, ok := c.(*Put); ok {
		for i := range p.Rows {
			size += 64 + len(p.Rows[i].Name) + 4*(len(p.Rows[i].Values)+len(p.Rows[i].Slots))
		}
	}
	return size
}

// EncodeCommand appends a command.
func EncodeCommand(w *Writer, c Command) {
	if w.B == nil { // at once as large as it gets
		w.B = make([]byte, 0, SizeOf(c))
	}
	w.Byte(byte(c.kind()))
	c.encode(w)
}

// DecodeCommand reads what EncodeCommand writes. Arrays of the command are views of b.
func DecodeCommand(b []byte) (Command, error) { return DecodeCommandIn(b, nil) }

// DecodeCommandIn is DecodeCommand for a command whose numbers may be elsewhere. find returns them; they must not
// change while the command is used. Errors of find are returned unchanged.
func DecodeCommandIn(b []byte, find func(Place) ([]float32, error)) (Command, error) {
	r := NewReader(b)
	c, err := ReadCommand(r, find)
	if err != nil {
		return nil, err
	}
	return c, r.End()
}

// ReadCommand is DecodeCommandIn for a message that goes on after the command.
func ReadCommand(r *Reader, find func(Place) ([]float32, error)) (Command, error) {
	r.find = find
	var c Command
	switch commandKind(r.Byte()) {
	case takeKind:
		c = &Take{}
	case createKind:
		c = &Create{}
	case pushKind:
		c = &Push{}
	case noteKind:
		c = &Note{}
	case settleKind:
		c = &Settle{}
	case putKind:
		c = &Put{}
	case recallKind:
		c = &Recall{}
	default:
		r.fail("the kind of a command is not known")
		return nil, r.Err()
	}
	c.decode(r)
	return c, r.Err()
}

// EncodeSnapshot appends everything.
func (s *State) EncodeSnapshot(w *Writer) {
	w.Uint(snapshotVersion)
	s.ledger.encode(w)
	s.round.encode(w)
	w.Uint(uint64(len(s.notes)))
	for _, key := range slices.Sorted(maps.Keys(s.notes)) {
		w.String(key)
		w.Bytes(s.notes[key])
	}
	w.Uint(uint64(len(s.tables)))
	for _, t := range s.tables {
		t.encode(w)
	}
}

// DecodeSnapshot reads what EncodeSnapshot writes.
func DecodeSnapshot(b []byte, l Limits) (*State, error) {
	s, r := NewState(l), NewReader(b)
	if v := r.Uint(); v != snapshotVersion && r.Err() == nil {
		return nil, fmt.Errorf("parameterserver: the snapshot has version %d; this program reads %d", v, snapshotVersion)
	}
	s.ledger.decode(r)
	s.round.decode(r)
	for range r.count(2) {
		key := r.String()
		s.notes[key] = slices.Clone(r.Bytes())
		s.noted += len(s.notes[key])
	}
	for range r.count(8) {
		t, err := decodeTable(r, l)
		if err != nil {
			return nil, err
		}
		if _, twice := s.byName[t.Name]; twice {
			return nil, fmt.Errorf("%w: table %s is there twice", ErrMessage, t.Name)
		}
		s.add(t)
	}
	return s, r.End()
}

// Bytes returns the size of all tables, including the optimizer's state.
func (s *State) Bytes() int {
	n := 0
	for _, t := range s.tables {
		if t.Dynamic {
			n += int(t.RowStats().Memory)
		} else {
			n += t.Bytes()
		}
	}
	return n
}

// Fault returns why a table has lost rows: its store on disk failed. Nothing more may be acknowledged.
func (s *State) Fault() error {
	for _, t := range s.tables {
		if t.fault != nil {
			return t.fault
		}
		if t.Dynamic && t.rows.fault != nil {
			return t.rows.fault
		}
	}
	return nil
}

// Close frees the disk space of tables.
func (s *State) Close() error {
	var all []error
	for _, t := range s.tables {
		all = append(all, t.rows.close())
	}
	return errors.Join(all...)
}
