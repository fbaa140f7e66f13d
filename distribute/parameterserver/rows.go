package parameterserver

import (
	"context"
	"fmt"
	"slices"

	"github.com/gokeras/gokeras/distribute/internal/protocol"
	"github.com/gokeras/gokeras/distribute/parameters"
)

// Rows of dynamic tables are sent in parts: part i of n has the keys whose hash modulo n is i.

// partBytes is about how many bytes of a table are in a message.
const partBytes = 64 << 20

func partOf(key int64, parts int) int {
	h := uint64(key) * 0x9E3779B97F4A7C15
	h ^= h >> 29
	return int((h * 0xBF58476D1CE4E5B9 >> 33) % uint64(parts))
}

// rows answers with a part of the rows of a dynamic table.
func (s *Server) rows(w *protocol.Writer, b []byte) error {
	r := protocol.NewReader(b)
	number, part, parts := uint32(r.Uint()), r.Int(), r.Int()
	if err := r.End(); err != nil {
		return err
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	t, err := s.state.Table(number)
	if err != nil {
		return err
	}
	if !t.Dynamic || part < 0 || part > 0 && part >= parts {
		return fmt.Errorf("parameterserver: table %s: part %d of %d; expected a part of a dynamic table", t.Name, part, parts)
	}
	w.Uint(t.Version)
	w.Uint(t.Step)
	rates := t.Rates()
	rates.Encode(w)
	if parts == 0 { // only these are asked for
		w.Bool(false)
		return nil
	}
	err = t.Export(func(row protocol.Row) bool {
		if partOf(row.Key, parts) == part {
			w.Bool(true)
			row.Encode(w)
		}
		return len(w.B) < maxMessage-(1<<20)
	})
	if err == nil && len(w.B) >= maxMessage-(1<<20) {
		err = fmt.Errorf("parameterserver: table %s: part %d of %d is too long for an answer; ask for more parts", t.Name, part, parts)
	}
	w.Bool(false)
	return err
}

// rows calls f for the rows of a dynamic table, server by server.
func (c *client) rows(ctx context.Context, v *parameters.Variable, f func(row parameters.Row) bool) (state parameters.TableState, err error) {
	if !v.Dynamic {
		return state, fmt.Errorf("parameterserver: variable %s is not dynamic; read it", v.Name)
	}
	for _, s := range v.Shards {
		l, err := c.list(ctx, s.Server, c.s.ServerTimeout)
		if err != nil {
			return state, err
		}
		if int(s.Number) >= len(l.tables) {
			return state, fmt.Errorf("parameterserver: variable %s is not on the servers any more", v.Name)
		}
		t := &l.tables[s.Number]
		if f == nil {
			if _, err := c.part(ctx, s, 0, 0, &state, nil); err != nil {
				return state, err
			}
			continue
		}
		parts := t.rows*(4*v.Width*(1+len(t.Rule.SlotNames()))+64)/partBytes + 1
		for part := range parts {
			goOn, err := c.part(ctx, s, part, parts, &state, f)
			if err != nil || !goOn {
				return state, err
			}
		}
	}
	return state, nil
}

// part calls f for one part of the rows of one server.
func (c *client) part(ctx context.Context, s parameters.Shard, part, parts int, state *parameters.TableState, f func(row parameters.Row) bool) (goOn bool, err error) {
	var w protocol.Writer
	w.Uint(uint64(s.Number))
	w.Uint(uint64(part))
	w.Uint(uint64(parts))
	r, err := c.links[s.Server].call(ctx, "Rows", w.B, c.s.ServerTimeout)
	if err != nil {
		return false, err
	}
	state.Version, state.Step = max(state.Version, r.Uint()), max(state.Step, r.Uint())
	var rates parameters.Rates
	if rates.Decode(r); len(rates) > len(state.Rates) {
		state.Rates = rates
	}
	for r.Bool() {
		var row parameters.Row
		if row.Decode(r); r.Err() != nil {
			break
		}
		if !f(row) {
			return false, nil
		}
	}
	return true, r.End()
}

// export returns the keys and values of a dynamic table, in the order of the keys.
func (c *client) export(ctx context.Context, v *parameters.Variable) (keys []int64, rows []float32, err error) {
	place := map[int64]int{}
	if _, err = c.rows(ctx, v, func(row parameters.Row) bool {
		place[row.Key] = len(rows)
		keys, rows = append(keys, row.Key), append(rows, row.Values...)
		return true
	}); err != nil {
		return nil, nil, err
	}
	slices.Sort(keys)
	sorted := make([]float32, 0, len(rows))
	for _, key := range keys {
		sorted = append(sorted, rows[place[key]:place[key]+v.Width]...)
	}
	return keys, sorted, nil
}

// putRows stores rows in a dynamic table. term is the coordinator's.
func (c *client) putRows(ctx context.Context, term uint64, v *parameters.Variable, of parameters.TableState, rows []parameters.Row) error {
	if !v.Dynamic {
		return fmt.Errorf("parameterserver: variable %s is not dynamic; assign its values", v.Name)
	}
	commands := make([]protocol.Put, len(v.Shards))
	for _, row := range rows {
		shard := shardOf(row.Key, len(v.Shards))
		commands[shard].Rows = append(commands[shard].Rows, row)
	}
	return c.each(c.all(), func(server int) error {
		for i, s := range v.Shards {
			if s.Server != server {
				continue
			}
			size, from := 0, 0
			all := commands[i].Rows
			for n := range len(all) + 1 {
				if n < len(all) {
					if size += 64 + len(all[n].Name) + 4*(len(all[n].Values)+len(all[n].Slots)); size < partBytes {
						continue
					}
				}
				end := min(n+1, len(all))
				if from == end && end > 0 {
					break
				}
				if _, err := c.execute(ctx, server, &protocol.Put{Term: term, Table: s.Number, Version: of.Version, Step: of.Step, Rates: of.Rates, Rows: all[from:end]}); err != nil {
					return err
				}
				size, from = 0, end
			}
		}
		return nil
	})
}

// naming returns the update that sends the texts of a change's keys to one server.
func naming(ch *parameters.Change, table uint32, places []int32, ids []int64) protocol.Update {
	u := protocol.Update{Table: table, Op: protocol.Naming, Sparse: true, IDs: ids, Names: make([]string, len(places))}
	for i, at := range places {
		u.Names[i] = ch.Names[at]
	}
	return u
}
