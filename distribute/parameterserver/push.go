package parameterserver

import (
	"context"

	"github.com/gokeras/gokeras/distribute/internal/protocol"
	"github.com/gokeras/gokeras/distribute/internal/shared"
	"github.com/gokeras/gokeras/distribute/parameters"
)

// push sends the changes of a closure, with one message to each server concerned, and fills the reads of the next
// closure from the answers.
func (c *client) push(ctx context.Context, id protocol.ClosureID, low uint64, o *parameters.Outcome) error {
	updates, err := c.updates(o.Changes)
	if err != nil {
		return err
	}
	pieces, err := c.next(o)
	if err != nil {
		return err
	}
	var busy []int
	for server := range updates {
		if len(updates[server]) > 0 || o.Round > 0 {
			busy = append(busy, server)
		} else if pieces != nil && len(pieces[server]) > 0 {
			pieces = nil // a read of its own will do
		}
	}
	if len(busy) == 0 {
		return nil
	}
	err = c.each(busy, func(server int) error {
		var rooms []*shared.Room
		for i := range updates[server] {
			if updates[server][i].Away != nil {
				rooms = roomsOf(o.Changes)
				break
			}
		}
		command := &protocol.Push{Closure: id, Low: low, Round: o.Round, Part: o.Part, Updates: updates[server]}
		if pieces != nil && len(pieces[server]) > 0 {
			return c.pushPull(ctx, server, command, rooms, pieces[server])
		}
		_, err := c.executeIn(ctx, server, command, rooms)
		return err
	})
	if err != nil || pieces == nil {
		return err
	}
	filled(pieces)
	for _, r := range o.Next {
		r.Came = true
	}
	return nil
}

// next divides the reads of the next closure among the servers; nil if they need messages of their own.
func (c *client) next(o *parameters.Outcome) ([][]piece, error) {
	for _, r := range o.Next {
		r.Came = false
	}
	if len(o.Next) == 0 || o.Round > 0 || c.routes != nil {
		return nil, nil
	}
	for _, r := range o.Next {
		if r.IDs != nil || r.Variable == nil || r.Variable.Dynamic {
			return nil, nil
		}
	}
	return c.pieces(o.Next)
}

// pushPull applies changes on a server, and fills parts of reads with the values afterwards.
func (c *client) pushPull(ctx context.Context, server int, command *protocol.Push, rooms []*shared.Room, pieces []piece) error {
	l := c.links[server]
	size, answer, more := l.measure(pieces)
	e := &exchange{link: l, method: "ExecuteRead", rooms: append(more, rooms...), build: func(w *protocol.Writer, inPlace bool) {
		encodeIn(w, command, inPlace)
		encodePieces(w, pieces, inPlace)
	}}
	r, done, err := e.do(ctx, protocol.SizeOf(command)+size, answer, c.s.ServerTimeout)
	defer done()
	if err != nil {
		return err
	}
	r.Bool() // whether it was repeated
	r.Uint()
	return decodePieces(r, pieces)
}

// encodeIn writes a command, whose values may be in rooms if inPlace is true.
func encodeIn(w *protocol.Writer, command protocol.Command, inPlace bool) {
	if push, ok := command.(*protocol.Push); ok && !inPlace {
		for i := range push.Updates {
			push.Updates[i].Away = nil
		}
	}
	protocol.EncodeCommand(w, command)
}
