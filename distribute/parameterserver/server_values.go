package parameterserver

import (
	"fmt"
	"slices"

	"github.com/gokeras/gokeras/distribute/internal/protocol"
)

// execute executes a command.
func (s *Server) execute(from *connection, w *protocol.Writer, b []byte) error {
	rooms := visited{c: from}
	defer rooms.leave()
	c, err := protocol.DecodeCommandIn(b, rooms.find)
	if err != nil {
		return err
	}
	b = s.whole(b, c, &rooms)
	if s.copied != nil {
		return s.copied.execute(w, b, c)
	}
	_, err = s.change(w, b, c)
	return err
}

// whole returns the message of a command. If others read it later, it includes the values that are in rooms.
func (s *Server) whole(b []byte, c protocol.Command, rooms *visited) []byte {
	if len(rooms.open) == 0 || s.copied == nil && s.store == nil {
		s.bytesWritten.Add(uint64(rooms.bytes))
		return b
	}
	var w protocol.Writer
	protocol.EncodeCommand(&w, c)
	return w.B
}

// executeRead executes a command and answers with values of tables right after it, so that what a worker sends and what
// it needs for its next step take one message.
func (s *Server) executeRead(from *connection, w *protocol.Writer, b []byte) error {
	if s.copied != nil {
		return fmt.Errorf("%w: a server with copies makes commands and answers with values one after the other", protocol.ErrMessage)
	}
	rooms := visited{c: from}
	defer rooms.leave()
	r := protocol.NewReader(b)
	c, err := protocol.ReadCommand(r, rooms.find)
	if err != nil {
		return err
	}
	own := s.whole(b[:len(b)-r.Left()], c, &rooms)
	all, err := decodeWanted(r, &rooms)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.checkWanted(all); err != nil { // before anything is changed
		return err
	}
	leaveValues(c, all)
	if _, err := s.changeLocked(w, own, c); err != nil {
		return err
	}
	return s.answerWanted(w, all)
}

// leaveValues lets updates also write their results to their destination: copying them afterwards would read them from
// memory again.
func leaveValues(c protocol.Command, all []wanted) {
	push, ok := c.(*protocol.Push)
	if !ok || push.Round > 0 {
		return
	}
	for i := range all {
		for j := len(push.Updates) - 1; j >= 0 && all[i].room != nil; j-- {
			if u := &push.Updates[j]; u.Table == all[i].number {
				u.After, all[i].by = all[i].room, u
				break
			}
		}
	}
}

// wanted is a table, or rows of it, whose values a client asks for.
type wanted struct {
	number  uint32
	version uint64 // that the client has, and 1 more
	sparse  bool
	ids     []int64
	placed  bool
	room    []float32        // where they go, if placed
	by      *protocol.Update // that leaves them there; nil: none
}

// decodeWanted reads what a client asks for.
func decodeWanted(r *protocol.Reader, rooms *visited) ([]wanted, error) {
	var all []wanted
	for range r.Count(4) {
		q := wanted{number: uint32(r.Uint()), version: r.Uint(), sparse: r.Bool()}
		if q.sparse {
			if q.ids = r.Ints(); q.ids == nil {
				q.ids = []int64{}
			}
		}
		var where protocol.Place
		if q.placed = r.Bool(); q.placed {
			where.Decode(r)
		}
		if r.Err() != nil {
			return nil, r.Err()
		}
		if q.placed {
			var err error
			if q.room, err = rooms.find(where); err != nil {
				return nil, err
			}
		}
		all = append(all, q)
	}
	return all, r.End()
}

// checkWanted returns an error if a request cannot be answered after a command.
func (s *Server) checkWanted(all []wanted) error {
	size := 1 << 16
	for i := range all {
		t, err := s.state.Table(all[i].number)
		if err != nil {
			return err
		}
		n := t.Rows * t.Width
		if all[i].sparse || t.Dynamic || all[i].placed && len(all[i].room) != n {
			return fmt.Errorf("%w: after a change whole tables are read; table %s has %d numbers, and there is room for %d", protocol.ErrMessage, t.Name, n, len(all[i].room))
		}
		if all[i].placed {
			n = 0
		}
		if size += 64 + 4*n; size > maxMessage {
			return tooLarge()
		}
	}
	return nil
}

func tooLarge() error {
	return fmt.Errorf("parameterserver: an answer of more than %d bytes; read fewer rows at a time, or cut the variable with a partitioner", maxMessage)
}

// read answers with values: for each requested table its version, step and rows, or no rows if the caller has this
// version.
func (s *Server) read(from *connection, w *protocol.Writer, b []byte) error {
	rooms := visited{c: from}
	defer rooms.leave()
	all, err := decodeWanted(protocol.NewReader(b), &rooms)
	if err != nil {
		return err
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.answerWanted(w, all)
}

// answerWanted writes values, or copies them to rooms. The caller holds the lock.
func (s *Server) answerWanted(w *protocol.Writer, all []wanted) error {
	for i := range all {
		if err := s.answerOne(w, &all[i]); err != nil {
			return err
		}
	}
	s.bytesRead.Add(uint64(len(w.B)))
	return nil
}

func (s *Server) answerOne(w *protocol.Writer, q *wanted) error {
	t, err := s.state.Table(q.number)
	if err != nil {
		return err
	}
	rows := t.Rows
	if q.sparse {
		rows = len(q.ids)
	}
	size := 4 * rows * t.Width
	if q.placed {
		s.bytesRead.Add(uint64(size))
		size = 0
	}
	if size > maxMessage-len(w.B)-(1<<16) {
		return tooLarge()
	}
	w.B = slices.Grow(w.B, size+64)
	w.Uint(t.Version)
	w.Uint(t.Step)
	if !q.sparse && q.version == t.Version+1 {
		w.Bool(false)
		return nil
	}
	w.Bool(true)
	s.rowsRead.Add(uint64(rows))
	w.Bool(q.placed)
	switch {
	case !q.placed:
		return t.ReadTo(w, q.ids)
	case q.by != nil && q.by.Left:
		return nil
	}
	return t.CopyTo(q.room, q.ids)
}
