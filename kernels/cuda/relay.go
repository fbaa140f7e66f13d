//go:build linux

package cuda

import (
	"fmt"
	"slices"
	"sort"

	"github.com/gokeras/gokeras/kernels/cuda/internal/driver"
	"github.com/gokeras/gokeras/kernels/cuda/internal/lower"
	"github.com/gokeras/gokeras/kernels/ir"
)

// relay is what one replica does in an arranged all-reduce. Devices read each other's memory if they can. Otherwise the
// replica that has the values copies them to pinned host memory, and the replica that needs them copies them from
// there.
type relay struct {
	moves  []relayMove
	rounds int
	awaits [][]int      // by round: the replicas whose earlier moves this one's use
	values []relayValue // where they lie
	shown  []stretch    // operands that others read in host memory
}

// relayMove is a move into this replica's memory.
type relayMove struct {
	move
	program *session // nil: a copy
	slots   []int64  // scratch memory for what the device does not reach; 0 if it does
	shown   bool     // others read the result in host memory
}

// relayValue says where a value lies.
type relayValue struct {
	unit, wide int   // bytes of an element, and of one of a sum
	sums       int64 // in scratch memory
	pinned     int   // in host memory: a piece is where its first element would be, with elements as wide as those of sums
}

func (v *relayValue) width(h holding) int {
	if h == sums {
		return v.wide
	}
	return v.unit
}

// planRelay determines how a replica does an all-reduce.
func (g *group) planRelay(replica int, c *combining, step *lower.Step) error {
	n, operandsOf := len(g.devices), step.Values[:len(step.Values)/2]
	r := &relay{values: make([]relayValue, len(operandsOf))}
	lengths := make([]int, len(operandsOf))
	for k, v := range operandsOf {
		size, unit := v.Type.Shape.Size(), v.Type.DType.Size()
		at := relayValue{unit: unit, wide: unit, sums: c.needs, pinned: c.pinned}
		if v.Type.DType.IsHalf() {
			at.wide = 4
		}
		lengths[k], r.values[k] = size, at
		c.needs += int64(rounded(size * at.wide))
		c.pinned += rounded(size * at.wide)
	}
	all := moves(g.arrangement, n, lengths)
	far := map[held]map[stretch]bool{} // pieces read by devices that do not reach them
	for _, m := range all {
		r.rounds = max(r.rounds, m.round+1)
		for _, from := range m.from {
			if !g.reach[m.to.replica][from.replica] {
				if far[from] == nil {
					far[from] = map[stretch]bool{}
				}
				far[from][stretch{m.value, m.first, m.length}] = true
			}
		}
	}
	r.awaits = make([][]int, r.rounds)
	for _, m := range all {
		piece := stretch{m.value, m.first, m.length}
		for _, from := range m.from {
			if from.replica == replica && from.holding == operands && far[from][piece] {
				delete(far[from], piece) // once
				r.shown = append(r.shown, piece)
			}
			if m.to.replica == replica && from.replica != replica && !slices.Contains(r.awaits[m.round], from.replica) {
				r.awaits[m.round] = append(r.awaits[m.round], from.replica)
			}
		}
		if m.to.replica != replica {
			continue
		}
		made := relayMove{move: m, shown: far[m.to][piece]}
		if err := g.planMove(replica, c, &made, &r.values[m.value], step, operandsOf[m.value].Type.DType); err != nil {
			return err
		}
		r.moves = append(r.moves, made)
	}
	sort.SliceStable(r.moves, func(i, k int) bool { return r.moves[i].round < r.moves[k].round })
	if g.peers {
		c.pinned = 0
	}
	c.relay = r
	return nil
}

// planMove makes the program of a move, and room for what the device does not reach.
func (g *group) planMove(replica int, c *combining, m *relayMove, v *relayValue, step *lower.Step, d ir.DType) (err error) {
	typeOf := func(h holding) ir.DType {
		if h == sums && d.IsHalf() {
			return ir.Float32
		}
		return d
	}
	if len(m.from) == 1 {
		return nil
	}
	from := make([]ir.DType, len(m.from))
	m.slots = make([]int64, len(m.from))
	for i, h := range m.from {
		from[i] = typeOf(h.holding)
		if !g.reach[replica][h.replica] {
			m.slots[i] = c.needs
			c.needs += int64(rounded(m.length * v.width(h.holding)))
		}
	}
	kind, n, to := step.Attrs.Kind, len(g.devices), typeOf(m.to.holding)
	key := fmt.Sprint("move ", kind, d, from, to, m.length, m.last)
	m.program, err = g.session(replica, key, func() (*ir.Program, error) { return joined(kind, d, from, to, m.length, n, m.last) })
	return err
}

// collectArranged combines as the group's arrangement says.
func (g *group) collectArranged() (int, error) {
	if !g.peers {
		if i, err := g.each((*group).publish); err != nil {
			return i, err
		}
		if i, err := g.each((*group).publishPieces); err != nil {
			return i, err
		}
	}
	if i, err := g.barrier(); err != nil {
		return i, err
	}
	if i, err := g.each((*group).combineFlags); err != nil {
		return i, err
	}
	for round := range g.of(0).relay.rounds {
		if round > 0 { // the first has already had the barrier
			if i, err := g.follow(round); err != nil {
				return i, err
			}
		}
		if i, err := g.each(func(g *group, replica int, d *device, c *combining) error { return g.doMoves(replica, d, c, round) }); err != nil {
			return i, err
		}
	}
	if i, err := g.barrier(); err != nil { // nobody may overwrite what another one still reads
		return i, err
	}
	return g.each((*group).settle)
}

// follow makes each replica wait for those whose earlier moves it uses in a round.
func (g *group) follow(round int) (int, error) {
	for i, d := range g.devices {
		needed := false
		for q := range g.devices {
			needed = needed || slices.Contains(g.of(q).relay.awaits[round], i)
		}
		if !needed {
			continue
		}
		if err := d.inside(func() driver.Result { return d.API.RecordEvent(g.events[i], g.lanes[i]) }, "cuEventRecord"); err != nil {
			return i, err
		}
	}
	return g.each(func(g *group, replica int, d *device, c *combining) error {
		for _, q := range c.relay.awaits[round] {
			if err := d.Err(d.API.WaitEvent(g.lanes[replica], g.events[q]), "cuStreamWaitEvent"); err != nil {
				return err
			}
		}
		return nil
	})
}

// at is where a piece is, and shownAt where it is in host memory.
func (g *group) at(h held, m *move) driver.Address {
	r := g.of(h.replica).relay
	v := &r.values[m.value]
	offset := driver.Address(m.first * v.width(h.holding))
	switch h.holding {
	case operands:
		return g.operand(h.replica, m.value) + offset
	case sums:
		return g.areas[h.replica].scratch + driver.Address(v.sums) + offset
	}
	return g.result(h.replica, m.value) + offset
}

func (g *group) shownAt(h held, m *move) []byte {
	v := &g.of(h.replica).relay.values[m.value]
	return g.areas[h.replica].pinned[v.pinned+m.first*v.wide:][:m.length*v.width(h.holding)]
}

// publishPieces copies the replica's operands that others read to host memory.
func (g *group) publishPieces(replica int, d *device, c *combining) error {
	for _, p := range c.relay.shown {
		m := &move{value: p.value, first: p.first, length: p.length}
		h := held{replica, operands}
		if err := d.Err(d.API.CopyToHost(g.shownAt(h, m), g.at(h, m), g.lanes[replica]), "cuMemcpyDtoHAsync_v2"); err != nil {
			return err
		}
	}
	return nil
}

// doMoves does a replica's moves of a round.
func (g *group) doMoves(replica int, d *device, c *combining, round int) error {
	for i := range c.relay.moves {
		if m := &c.relay.moves[i]; m.round == round {
			if err := g.doMove(replica, d, m); err != nil {
				return err
			}
		}
	}
	return nil
}

func (g *group) doMove(replica int, d *device, m *relayMove) error {
	lane, to := g.lanes[replica], g.at(m.to, &m.move)
	fetch := func(to driver.Address, from held) error {
		return d.Err(d.API.CopyToDevice(to, g.shownAt(from, &m.move), lane), "cuMemcpyHtoDAsync_v2")
	}
	switch from := m.from[0]; {
	case m.program != nil:
		m.program.begin(lane)
		for i, from := range m.from {
			at := g.at(from, &m.move)
			if !g.reach[replica][from.replica] {
				at = g.areas[replica].scratch + driver.Address(m.slots[i])
				if err := fetch(at, from); err != nil {
					return err
				}
			}
			m.program.inputs = append(m.program.inputs, at)
		}
		if err := m.program.small(to); err != nil {
			return err
		}
	case g.reach[replica][from.replica]:
		bytes := m.length * g.of(replica).relay.values[m.value].unit
		if err := d.Err(d.API.CopyOnDevice(to, g.at(from, &m.move), int64(bytes), lane), "cuMemcpyDtoDAsync_v2"); err != nil {
			return err
		}
	default:
		if err := fetch(to, from); err != nil {
			return err
		}
	}
	if !m.shown {
		return nil
	}
	return d.Err(d.API.CopyToHost(g.shownAt(m.to, &m.move), to, lane), "cuMemcpyDtoHAsync_v2")
}
