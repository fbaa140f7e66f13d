package parameterserver

import (
	"errors"
	"fmt"
	"slices"
	"unsafe"

	"github.com/gokeras/gokeras/distribute/internal/protocol"
	"github.com/gokeras/gokeras/distribute/internal/shared"
	"github.com/gokeras/gokeras/distribute/parameters"
)

// The values of a read, and those of a change, may be in a room: memory of the client that a server on the same host
// maps. The message then says where they are, and the server writes or reads its rows there. A lane would copy them
// twice more. After a failed call the server may still be using the room, so it is given up, and the call is repeated
// without it.

// method answers a request of a client.
type method func(c *connection, w *protocol.Writer, b []byte) error

// plain is a method that needs no memory of the client's.
func plain(f func(*protocol.Writer, []byte) error) method {
	return func(_ *connection, w *protocol.Writer, b []byte) error { return f(w, b) }
}

// visited holds the rooms that a server has opened for one request.
type visited struct {
	c     *connection
	open  []*mapped
	bytes int // of what was found
}

// find returns the numbers at a place.
func (v *visited) find(p protocol.Place) ([]float32, error) {
	if v.c == nil {
		return nil, protocol.ErrPlace
	}
	m, err := v.c.open(p.Note)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", protocol.ErrPlace, err)
	}
	v.open = append(v.open, m)
	if p.Offset%4 != 0 || p.Offset > len(m.Bytes) || p.Count > (len(m.Bytes)-p.Offset)/4 {
		return nil, fmt.Errorf("%w: %d numbers from byte %d of %d of shared memory", protocol.ErrMessage, p.Count, p.Offset, len(m.Bytes))
	}
	if p.Count == 0 {
		return nil, nil
	}
	v.bytes += 4 * p.Count
	return unsafe.Slice((*float32)(unsafe.Pointer(&m.Bytes[p.Offset])), p.Count), nil
}

// leave releases the rooms.
func (v *visited) leave() {
	for _, m := range v.open {
		v.c.release(m)
	}
}

// rooms lists the rooms that a request to a server refers to; nil if it refers to none.
func (l *link) rooms(all ...*shared.Room) []*shared.Room {
	if l.roomless.Load() || l.routes != nil {
		return nil
	}
	var out []*shared.Room
	for _, r := range all {
		if r.Note() != "" && !r.Spoiled() {
			out = append(out, r)
		}
	}
	return out
}

// place returns the position of values in the room; nil if they are not in it, or too few to be worth it.
func place(room *shared.Room, values []float32) *protocol.Place {
	at, inside := room.Place(values)
	if !inside || 4*len(values) < leastShared || room.Spoiled() {
		return nil
	}
	return &protocol.Place{Note: room.Note(), Offset: at, Count: len(values)}
}

// roomsOf lists the rooms of changes.
func roomsOf(changes []parameters.Change) (all []*shared.Room) {
	for i := range changes {
		if r := changes[i].Room; r.Note() != "" {
			all = append(all, r)
		}
	}
	return all
}

// mend gives a read its own memory if values arrived that are not in its room.
func (p *piece) mend() {
	if p.late == nil {
		return
	}
	if _, inside := p.read.Room.Place(p.read.Values); inside {
		p.read.Values = slices.Clone(p.read.Values)
	}
	copy(p.values(), p.late)
}

// isRoomless reports whether an answer says that the server cannot see a room.
func isRoomless(err error) bool { return errors.Is(err, protocol.ErrPlace) }
