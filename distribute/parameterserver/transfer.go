package parameterserver

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/gokeras/gokeras/distribute/internal/protocol"
	"github.com/gokeras/gokeras/distribute/internal/shared"
	"github.com/gokeras/gokeras/distribute/parameters"
)

// piece is the part of a read that one server answers.
type piece struct {
	read   *parameters.Read
	shard  int
	number uint32
	places []int32 // of its rows among the read's; nil: all rows of the shard
	ids    []int64
	room   *protocol.Place // of its values, where the server puts them
	late   []float32       // they came otherwise
	placed bool            // they came there
}

// pull fills reads, with one message to each server.
func (c *client) pull(ctx context.Context, reads ...*parameters.Read) error {
	pieces, err := c.pieces(reads)
	if err != nil {
		return err
	}
	var busy []int
	for server := range pieces {
		if len(pieces[server]) > 0 {
			busy = append(busy, server)
		}
	}
	if len(busy) == 0 {
		return nil
	}
	if err := c.each(busy, func(server int) error { return c.pullFrom(ctx, server, pieces[server]) }); err != nil {
		return err
	}
	filled(pieces)
	return nil
}

// pieces divides reads among the servers.
func (c *client) pieces(reads []*parameters.Read) ([][]piece, error) {
	pieces := make([][]piece, len(c.links))
	for _, r := range reads {
		v := r.Variable
		if v == nil {
			return nil, errors.New("parameterserver: a read without a variable")
		}
		rows := v.Rows()
		var places [][]int32
		var ids [][]int64
		if r.IDs != nil || v.Dynamic {
			var err error
			if places, ids, err = split(v, r.IDs); err != nil {
				return nil, err
			}
			rows = len(r.IDs)
		}
		r.Values = slices.Grow(r.Values[:0], rows*v.Width)[:rows*v.Width]
		r.InPlace = false
		r.Seen = slices.Grow(r.Seen[:0], len(v.Shards))[:len(v.Shards)]
		for i, s := range v.Shards {
			p := piece{read: r, shard: i, number: s.Number}
			if ids != nil {
				if p.places, p.ids = places[i], ids[i]; len(p.ids) == 0 {
					continue
				}
			}
			pieces[s.Server] = append(pieces[s.Server], p)
		}
	}
	return pieces, nil
}

// filled is called when all parts of reads have arrived.
func filled(pieces [][]piece) {
	for _, of := range pieces {
		for i := range of {
			of[i].mend()
			of[i].read.InPlace = true
		}
	}
	for _, of := range pieces {
		for i := range of {
			of[i].read.InPlace = of[i].read.InPlace && of[i].placed
		}
	}
}

// pullFrom fills parts of reads.
func (c *client) pullFrom(ctx context.Context, server int, pieces []piece) error {
	l := c.links[server]
	size, answer, rooms := l.measure(pieces)
	e := &exchange{link: l, method: "Read", rooms: rooms, build: func(w *protocol.Writer, inPlace bool) { encodePieces(w, pieces, inPlace) }}
	r, done, err := e.do(ctx, size, answer, c.s.ServerTimeout)
	defer done()
	if err != nil {
		return err
	}
	return decodePieces(r, pieces)
}

// measure decides which parts of reads use rooms, and returns the approximate size in bytes of the request and the
// answer.
func (l *link) measure(pieces []piece) (size, answer int, rooms []*shared.Room) {
	size, answer = 16, headerBytes
	for i := range pieces {
		p := &pieces[i]
		rows := p.read.Variable.Shards[p.shard].Rows
		if p.places != nil {
			rows = len(p.places)
			size += 8 * rows
		}
		size, answer = size+32, answer+64
		if found := l.rooms(p.read.Room); found != nil {
			if p.room = place(p.read.Room, p.values()); p.room != nil {
				rooms = append(rooms, found...)
				size += 32 + len(p.room.Note)
				continue
			}
		}
		answer += 4 * rows * p.read.Variable.Width
	}
	return size, answer, rooms
}

func encodePieces(w *protocol.Writer, pieces []piece, inPlace bool) {
	w.Uint(uint64(len(pieces)))
	for i := range pieces {
		pieces[i].encode(w, inPlace)
	}
}

func decodePieces(r *protocol.Reader, pieces []piece) error {
	for i := range pieces {
		if err := pieces[i].decode(r); err != nil {
			return err
		}
	}
	return r.End()
}

// values returns the memory of the piece's values if they are contiguous, otherwise nil.
func (p *piece) values() []float32 {
	v := p.read.Variable
	s := v.Shards[p.shard]
	first, rows := s.First, s.Rows
	if p.places != nil {
		if rows = len(p.places); rows == 0 || int(p.places[rows-1])-int(p.places[0]) != rows-1 {
			return nil
		}
		first = int(p.places[0])
	}
	return p.read.Values[first*v.Width : (first+rows)*v.Width]
}

func (p *piece) encode(w *protocol.Writer, inPlace bool) {
	w.Uint(uint64(p.number))
	w.Uint(0) // no version is known
	w.Bool(p.places != nil)
	if p.places != nil {
		w.Ints(p.ids)
	}
	inPlace = inPlace && p.room != nil
	w.Bool(inPlace)
	if inPlace {
		p.room.Encode(w)
	}
}

// decode reads the piece from an answer.
func (p *piece) decode(r *protocol.Reader) error {
	v := p.read.Variable
	r.Uint() // the version
	step, fresh, inPlace := r.Uint(), r.Bool(), r.Bool()
	p.read.Seen[p.shard] = step
	if inPlace {
		if p.room == nil && r.Err() == nil {
			return fmt.Errorf("%w: values of %s lie in no room", protocol.ErrMessage, v.Name)
		}
		p.placed = true
		return r.Err()
	}
	values := r.Floats()
	if err := r.Err(); err != nil {
		return err
	}
	want := v.Shards[p.shard].Rows
	if p.places != nil {
		want = len(p.places)
	}
	if !fresh || len(values) != want*v.Width {
		return fmt.Errorf("%w: %d numbers of %d rows of %s", protocol.ErrMessage, len(values), want, v.Name)
	}
	if p.room != nil { // the server did not write there, or may still do
		p.late = slices.Clone(values)
		return nil
	}
	if to := p.values(); to != nil {
		copy(to, values)
		return nil
	}
	for i, at := range p.places {
		copy(p.read.Values[int(at)*v.Width:(int(at)+1)*v.Width], values[i*v.Width:])
	}
	return nil
}

// updates divides changes among the servers.
func (c *client) updates(changes []parameters.Change) ([][]protocol.Update, error) {
	out := make([][]protocol.Update, len(c.links))
	for i := range changes {
		ch := &changes[i]
		v := ch.Variable
		if v == nil {
			return nil, fmt.Errorf("parameterserver: a change without a variable")
		}
		rows := v.Rows()
		if ch.IDs != nil {
			rows = len(ch.IDs)
		} else if v.Dynamic {
			return nil, fmt.Errorf("parameterserver: variable %s is dynamic: a change must name the rows", v.Name)
		}
		if len(ch.Values) != rows*v.Width {
			return nil, fmt.Errorf("parameterserver: a change of variable %s, of shape %v, has %d numbers; expected %d for %d rows of %d", v.Name, v.Shape, len(ch.Values), rows*v.Width, rows, v.Width)
		}
		if ch.Names != nil && len(ch.Names) != len(ch.IDs) {
			return nil, fmt.Errorf("parameterserver: a change of variable %s names %d texts for %d keys", v.Name, len(ch.Names), len(ch.IDs))
		}
		var places [][]int32
		var ids [][]int64
		if ch.IDs != nil {
			var err error
			if places, ids, err = split(v, ch.IDs); err != nil {
				return nil, err
			}
		}
		for n, s := range v.Shards {
			u := protocol.Update{Table: s.Number, Op: ch.Op, Rate: ch.Rate}
			if n < len(ch.Seen) {
				u.Seen = ch.Seen[n]
			}
			if ch.IDs == nil {
				u.Values = ch.Values[s.First*v.Width : (s.First+s.Rows)*v.Width]
			} else {
				u.Sparse, u.IDs = true, ids[n]
				u.Values = rowsOf(ch.Values, places[n], v.Width)
			}
			if c.links[s.Server].rooms(ch.Room) != nil {
				u.Away = place(ch.Room, u.Values)
			}
			if ch.Names != nil {
				out[s.Server] = append(out[s.Server], naming(ch, s.Number, places[n], u.IDs))
			}
			out[s.Server] = append(out[s.Server], u)
		}
	}
	return out, nil
}

// rowsOf returns some rows, without copying if they are contiguous.
func rowsOf(values []float32, places []int32, width int) []float32 {
	n := len(places)
	if n == 0 {
		return nil
	}
	if int(places[n-1])-int(places[0]) == n-1 {
		return values[int(places[0])*width : (int(places[n-1])+1)*width]
	}
	out := make([]float32, 0, n*width)
	for _, at := range places {
		out = append(out, values[int(at)*width:(int(at)+1)*width]...)
	}
	return out
}

// slots returns the optimizer's state of a variable.
func (c *client) slots(ctx context.Context, v *parameters.Variable, names []string) (map[string][]float32, uint64, error) {
	out, steps := map[string][]float32{}, uint64(0)
	for _, s := range v.Shards {
		var w protocol.Writer
		w.Uint(uint64(s.Number))
		r, err := c.links[s.Server].call(ctx, "Slots", w.B, c.s.ServerTimeout)
		if err != nil {
			return nil, 0, err
		}
		steps = max(steps, r.Uint())
		n := r.Count(1)
		if r.Err() == nil && n != len(names) {
			return nil, 0, fmt.Errorf("parameterserver: variable %s has %d slots on %v, expected %v", v.Name, n, c.links[s.Server].member.Task, names)
		}
		for i := range n {
			if out[names[i]] == nil {
				out[names[i]] = make([]float32, v.Rows()*v.Width)
			}
			copy(out[names[i]][s.First*v.Width:], r.Floats())
		}
		if err := r.End(); err != nil {
			return nil, 0, err
		}
	}
	return out, steps, nil
}

// setSlots sets the optimizer's state for a variable. term is the coordinator's.
func (c *client) setSlots(ctx context.Context, term uint64, v *parameters.Variable, slots map[string][]float32, steps uint64) error {
	names, err := c.slotNames(ctx, v)
	if err != nil {
		return err
	}
	for _, name := range names {
		if n := len(slots[name]); n != v.Rows()*v.Width || len(slots) != len(names) {
			return fmt.Errorf("parameterserver: variable %s: %d slots, of which %s has %d numbers; expected %v with %d numbers each", v.Name, len(slots), name, n, names, v.Rows()*v.Width)
		}
	}
	for _, s := range v.Shards {
		command := &protocol.Recall{Term: term, Table: s.Number, Step: steps}
		for _, name := range names {
			command.Slots = append(command.Slots, slots[name][s.First*v.Width:(s.First+s.Rows)*v.Width])
		}
		if _, err := c.execute(ctx, s.Server, command); err != nil {
			return err
		}
	}
	return nil
}

// slotNames lists the slots of a variable.
func (c *client) slotNames(ctx context.Context, v *parameters.Variable) ([]string, error) {
	all, err := c.list(ctx, v.Shards[0].Server, c.s.ServerTimeout)
	if err != nil {
		return nil, err
	}
	if n := v.Shards[0].Number; int(n) < len(all.tables) {
		return all.tables[n].Rule.SlotNames(), nil
	}
	return nil, fmt.Errorf("parameterserver: variable %s is not on the servers any more", v.Name)
}

// note returns a note. Notes are kept on the first server.
func (c *client) note(ctx context.Context, key string) ([]byte, error) {
	var w protocol.Writer
	w.String(key)
	r, err := c.links[0].call(ctx, "Note", w.B, c.s.ServerTimeout)
	if err != nil {
		return nil, err
	}
	b := slices.Clone(r.Bytes())
	if len(b) == 0 {
		b = nil
	}
	return b, r.End()
}

// meet waits until all servers answer, and returns the largest term.
func (c *client) meet(ctx context.Context, patience time.Duration) (uint64, error) {
	all, err := c.survey(ctx, patience)
	if err != nil {
		return 0, err
	}
	var most uint64
	for _, one := range all {
		most = max(most, one.term)
	}
	for server, one := range all {
		for _, other := range all {
			if one.term == 0 && len(other.tables) > 0 { // it never had a coordinator, and the others have variables
				m := c.links[server].member
				return 0, fmt.Errorf("parameterserver: %v at %s: %w", m.Task, m.Address, ErrStateLost)
			}
		}
	}
	return most, nil
}

// survey lists what all servers hold.
func (c *client) survey(ctx context.Context, patience time.Duration) ([]listing, error) {
	all := make([]listing, len(c.links))
	err := c.each(c.all(), func(server int) (err error) {
		all[server], err = c.list(ctx, server, patience)
		return err
	})
	return all, err
}

// settle ends a round on all servers.
func (c *client) settle(ctx context.Context, term uint64, round protocol.Settled) error {
	return c.each(c.all(), func(server int) error {
		_, err := c.execute(ctx, server, &protocol.Settle{Term: term, Settled: round})
		return err
	})
}

// agree settles the round that an earlier coordinator was settling when it died, and returns the last one that all
// servers have applied.
func (c *client) agree(ctx context.Context, term uint64) (uint64, error) {
	all, err := c.survey(ctx, c.s.ServerTimeout)
	if err != nil {
		return 0, err
	}
	rounds := make([]protocol.Settled, len(all))
	for i := range all {
		rounds[i] = all[i].settled
	}
	last, open := protocol.Unsettled(rounds)
	if open {
		err = c.settle(ctx, term, last)
	}
	return last.Round, err
}
