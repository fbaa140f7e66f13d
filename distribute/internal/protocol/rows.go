package protocol

import (
	"encoding/binary"
	"fmt"
	"math"
	"sync/atomic"
)

// rowStore holds the rows of a dynamic table. A row is in memory or in the spill; if it is in both, the one in memory
// is current. Rows are stored in pages, so that the table grows without being copied. A row is its values followed by
// the state of the optimizer.
type rowStore struct {
	t      *Table
	length int // numbers of a row
	pages  [][]float32
	index  map[int64]int32 // of the rows in memory
	keys   []int64
	counts []uint32 // updates
	last   []uint64 // Version of the table at the last update
	steps  []uint64 // Step of the table that the row is as of
	names  []string // of text keys
	hot    []bool   // used since the hand came by
	free   []int32

	total   int              // rows, in memory or not
	gone    map[int64]uint64 // evicted rows, which come back if their keys are updated soon, and when they were evicted
	leaving []departure      // the same in order, and some that came back

	spill  Spill // nil: all rows are in memory
	budget int   // rows in memory at most, where there is a spill
	hand   int
	fault  error // of the spill: rows may be lost

	hits, misses atomic.Uint64
	evictions    uint64
}

type departure struct {
	key     int64
	version uint64
}

// graceUpdates is the number of updates of the table for which an evicted row is kept, for gradients that were being
// computed when it was evicted.
const graceUpdates = 128

const dynamicPage = 1 << 10

// rowOverhead is about how many bytes a row in memory takes besides its numbers: for its key, counters and index entry.
const rowOverhead = 64

func newRowStore(t *Table, l Limits) *rowStore {
	s := &rowStore{t: t, length: t.Width * (1 + len(t.Rule.SlotNames())), index: map[int64]int32{}, gone: map[int64]uint64{}}
	if l.TableMemory == 0 {
		return s
	}
	s.budget = max(l.TableMemory/2/(4*s.length+rowOverhead), dynamicPage)
	s.spill, s.fault = openSpill(l.SpillDirectory, t.Name, l.TableMemory/2)
	return s
}

func (s *rowStore) row(r int32) []float32 {
	at := int(r) % dynamicPage * s.length
	return s.pages[r/dynamicPage][at : at+s.length : at+s.length]
}

// first fills a row with its initial state, before any update.
func (s *rowStore) first(key int64, row []float32) {
	w := s.t.Width
	s.t.Init.Fill(key, row[:w])
	for i := range len(row)/w - 1 {
		v, slot := s.t.Rule.slotValue(i), row[(1+i)*w:(2+i)*w]
		for j := range slot {
			slot[j] = v
		}
	}
}

// take returns the row of a key in its state after the table's update number step, and creates it if there is none. It
// stays at its place until the next call.
func (s *rowStore) take(key int64, step uint64) int32 {
	r, here := s.index[key]
	if !here {
		r = s.place()
		row := s.row(r)
		s.keys[r], s.counts[r], s.last[r], s.steps[r] = key, 0, 0, 0
		if found := s.load(key, r); !found {
			s.first(key, row)
			s.total++
		}
		s.index[key] = r
	}
	if len(s.gone) > 0 {
		delete(s.gone, key)
	}
	s.t.catchUp(s.row(r), s.steps[r], step)
	s.steps[r], s.hot[r] = step, true
	return r
}

// use counts an update of a row.
func (s *rowStore) use(r int32) {
	if s.counts[r] < math.MaxUint32 {
		s.counts[r]++
	}
	s.last[r], s.steps[r] = s.t.Version, s.t.Step
}

// place returns a place in memory for a row.
func (s *rowStore) place() int32 {
	if len(s.free) == 0 && s.spill != nil && len(s.index) >= s.budget {
		s.writeOut(max(s.budget/16, 1))
	}
	if n := len(s.free); n > 0 {
		r := s.free[n-1]
		s.free = s.free[:n-1]
		return r
	}
	r := len(s.keys)
	if r == len(s.pages)*dynamicPage {
		s.pages = append(s.pages, make([]float32, dynamicPage*s.length))
	}
	s.keys, s.counts, s.hot = append(s.keys, 0), append(s.counts, 0), append(s.hot, false)
	s.last, s.steps = append(s.last, 0), append(s.steps, 0)
	if s.t.Text {
		s.names = append(s.names, "")
	}
	return int32(r)
}

// holds reports whether place r has a row.
func (s *rowStore) holds(r int) bool {
	at, ok := s.index[s.keys[r]]
	return ok && at == int32(r)
}

// writeOut moves rows that were not used for a while from memory to the spill.
func (s *rowStore) writeOut(n int) {
	var rows []int32
	chosen := map[int32]bool{}
	for range 2 * len(s.keys) {
		if len(rows) == n {
			break
		}
		r := int32(s.hand)
		s.hand = (s.hand + 1) % len(s.keys)
		if s.hot[r] {
			s.hot[r] = false
		} else if !chosen[r] && s.holds(int(r)) {
			rows, chosen[r] = append(rows, r), true
		}
	}
	keys, records := make([]int64, len(rows)), make([][]byte, len(rows))
	for i, r := range rows {
		keys[i], records[i] = s.keys[r], s.record(r)
	}
	if err := s.spill.Write(keys, records, nil); err != nil {
		s.fail(err)
		return // they stay
	}
	for _, r := range rows {
		s.drop(r)
	}
}

func (s *rowStore) drop(r int32) {
	delete(s.index, s.keys[r])
	s.free = append(s.free, r)
	s.hot[r] = false
	if s.t.Text {
		s.names[r] = ""
	}
}

func (s *rowStore) fail(err error) {
	if s.fault == nil {
		s.fault = fmt.Errorf("parameterserver: table %s: its rows on disk: %w", s.t.Name, err)
	}
}

// record returns a row as the spill stores it.
func (s *rowStore) record(r int32) []byte {
	b := make([]byte, 0, recordHeader+4*s.length)
	b = binary.LittleEndian.AppendUint32(b, s.counts[r])
	b = binary.LittleEndian.AppendUint64(b, s.last[r])
	b = binary.LittleEndian.AppendUint64(b, s.steps[r])
	name := ""
	if s.t.Text {
		name = s.names[r]
	}
	b = binary.LittleEndian.AppendUint32(b, uint32(len(name)))
	b = append(b, name...)
	return append(b, bytesOf(s.row(r))...)
}

// recordHeader is the length of a record without its name and numbers.
const recordHeader = 24

// storedRow is a row from the spill.
type storedRow struct {
	count      uint32
	last, step uint64
	name       string
	row        []float32
}

func (s *rowStore) parse(b []byte) (storedRow, error) {
	var o storedRow
	if len(b) < recordHeader {
		return o, fmt.Errorf("a record of %d bytes", len(b))
	}
	o.count, o.last, o.step = binary.LittleEndian.Uint32(b), binary.LittleEndian.Uint64(b[4:]), binary.LittleEndian.Uint64(b[12:])
	n := int(binary.LittleEndian.Uint32(b[20:]))
	if len(b) != recordHeader+n+4*s.length {
		return o, fmt.Errorf("a record of %d bytes, expected %d", len(b), recordHeader+n+4*s.length)
	}
	o.name = string(b[recordHeader : recordHeader+n])
	o.row = make([]float32, s.length)
	copy(bytesOf(o.row), b[recordHeader+n:])
	return o, nil
}

// stored returns the row of a key that is not in memory.
func (s *rowStore) stored(key int64) (o storedRow, found bool, err error) {
	if s.spill == nil || s.total == len(s.index) {
		return o, false, s.fault
	}
	b, err := s.spill.Get(key)
	if err == nil && b != nil {
		o, err = s.parse(b)
		found = true
	}
	return o, found && err == nil, err
}

// load brings a row from the spill to place r.
func (s *rowStore) load(key int64, r int32) bool {
	o, found, err := s.stored(key)
	if err != nil {
		s.fail(err)
	}
	if !found {
		return false
	}
	s.counts[r], s.last[r], s.steps[r] = o.count, o.last, o.step
	copy(s.row(r), o.row)
	if s.t.Text {
		s.names[r] = o.name
	}
	return true
}

// read returns the current values of a key's row, or the initial values if there is none. scratch has room for a row.
func (s *rowStore) read(key int64, scratch []float32) (row []float32, known bool, err error) {
	var step uint64
	if r, here := s.index[key]; here {
		if s.steps[r] == s.t.Step || !s.t.Rule.touchesAll() {
			return s.row(r)[:s.t.Width], true, nil
		}
		copy(scratch, s.row(r))
		known, step = true, s.steps[r]
	} else {
		o, found, err := s.stored(key)
		if err != nil {
			return nil, false, err
		}
		if found {
			copy(scratch, o.row)
			known, step = true, o.step
		} else {
			s.first(key, scratch)
		}
	}
	s.t.catchUp(scratch, step, s.t.Step)
	return scratch[:s.t.Width], known, nil
}

// readTo appends the rows of keys to a message.
func (s *rowStore) readTo(w *Writer, keys []int64) error {
	scratch := make([]float32, s.length)
	hits := 0
	for _, key := range keys {
		row, known, err := s.read(key, scratch)
		if err != nil {
			return fmt.Errorf("parameterserver: table %s: its rows on disk: %w", s.t.Name, err)
		}
		if known {
			hits++
		}
		w.B = append(w.B, bytesOf(row)...)
	}
	s.hits.Add(uint64(hits))
	s.misses.Add(uint64(len(keys) - hits))
	return nil
}

// len is the number of rows that have not been evicted.
func (s *rowStore) len() int { return s.total - len(s.gone) }

// nameOf returns the text of a key that has a row.
func (s *rowStore) nameOf(key int64) (string, bool, error) {
	if r, here := s.index[key]; here {
		return s.names[r], true, nil
	}
	o, found, err := s.stored(key)
	return o.name, found, err
}

// Row is a row of a dynamic table with all of its state.
type Row struct {
	Key    int64
	Name   string // of a text key
	Count  uint32 // updates
	Last   uint64 // Version of the table at the last one
	Step   uint64 // of the table that the row is as of
	Values []float32
	Slots  []float32 // state of the optimizer, slot after slot
}

// each calls f for all rows, including evicted ones, until it returns false. Rows are valid during the call.
func (s *rowStore) each(f func(row Row) bool) error {
	w := s.t.Width
	for r := range s.keys {
		if !s.holds(r) {
			continue
		}
		all := s.row(int32(r))
		row := Row{Key: s.keys[r], Count: s.counts[r], Last: s.last[r], Step: s.steps[r], Values: all[:w:w], Slots: all[w:]}
		if s.t.Text {
			row.Name = s.names[r]
		}
		if !f(row) {
			return nil
		}
	}
	if s.spill == nil || s.total == len(s.index) {
		return s.fault
	}
	var broken error
	err := s.spill.Each(func(key int64, b []byte) bool {
		if _, here := s.index[key]; here {
			return true
		}
		o, err := s.parse(b)
		if err != nil {
			broken = err
			return false
		}
		return f(Row{Key: key, Name: o.name, Count: o.count, Last: o.last, Step: o.step, Values: o.row[:w:w], Slots: o.row[w:]})
	})
	if err == nil {
		err = broken
	}
	return err
}

func (s *rowStore) close() error {
	if s == nil || s.spill == nil {
		return nil
	}
	return s.spill.Close()
}
