//go:build linux

package cuda

import (
	"context"
	"fmt"
	"slices"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
)

// All-reduces can be arranged in other ways than in one go or in shares: first within groups of near replicas, on one
// of them alone, or around a ring. An arrangement is a list of moves. Each move combines pieces that are on some
// replicas and puts the result into the memory of one. Moves of one round run at the same time, and use the results of
// earlier rounds.

// holding says which of a replica's numbers a move reads or writes.
type holding uint8

const (
	operands holding = iota // what the replica brings
	sums                    // of some replicas, in scratch memory; of 16-bit floats as float32
	results
)

// held says where a piece is.
type held struct {
	replica int
	holding holding
}

// move combines pieces of a value, all of the same elements, in the given order.
type move struct {
	round         int
	value         int
	first, length int // elements
	from          []held
	to            held
	last          bool // the sum is that of all replicas
}

// stretch is a part of a value.
type stretch struct{ value, first, length int }

// cut returns the elements from first until limit of values laid end to end.
func cut(lengths []int, first, limit int) (all []stretch) {
	at := 0
	for v, n := range lengths {
		if low, high := max(first-at, 0), min(limit-at, n); low < high {
			all = append(all, stretch{v, low, high - low})
		}
		at += n
	}
	return all
}

// moves are those of an all-reduce of values of these lengths, over n replicas. A pack begins one round after the one
// before it, so that the packs use different connections at any time.
func moves(a *kernels.Arrangement, n int, lengths []int) (all []move) {
	total := 0
	var limits []int
	for _, length := range lengths {
		total += length
		limits = append(limits, total)
	}
	if a.Packs > 0 {
		limits = limits[:0]
		for p := range a.Packs {
			limits = append(limits, (p+1)*(total/a.Packs))
		}
		limits[a.Packs-1] = total
	}
	first := 0
	for p, limit := range limits {
		begin := 0
		if a.Packs > 0 {
			begin = p
		}
		if a.Ring {
			all = append(all, ringMoves(begin, n, lengths, first, limit)...)
		} else {
			all = append(all, groupMoves(begin, a.Groups, lengths, first, limit)...)
		}
		first = limit
	}
	return all
}

// groupMoves combine within the groups, then over them, and send the result down the same way.
func groupMoves(round int, groups [][]int, lengths []int, first, limit int) (all []move) {
	pieces := cut(lengths, first, limit)
	add := func(round int, last bool, to held, from ...held) {
		for _, p := range pieces {
			all = append(all, move{round, p.value, p.first, p.length, from, to, last})
		}
	}
	root := groups[0][0]
	var parts []held // of the groups
	inside := false
	for _, members := range groups {
		var brought []held
		order := slices.Clone(members)
		slices.Sort(order)
		for _, r := range order {
			brought = append(brought, held{r, operands})
		}
		if len(members) == 1 || len(groups) == 1 {
			parts = append(parts, brought...)
			continue
		}
		parts, inside = append(parts, held{members[0], sums}), true
		add(round, false, held{members[0], sums}, brought...)
	}
	if inside {
		round++
	}
	add(round, true, held{root, results}, parts...)
	for _, members := range groups {
		from, next := held{root, results}, round+1
		if leader := members[0]; leader != root {
			add(next, false, held{leader, results}, from)
			from, next = held{leader, results}, next+1
		}
		for _, r := range members[1:] {
			add(next, false, held{r, results}, from)
		}
	}
	return all
}

// ringMoves pass parts around the ring: each replica adds its own numbers to its predecessor's sum for a part, and the
// sums go around once more.
func ringMoves(round, n int, lengths []int, first, limit int) (all []move) {
	size := (limit - first + n - 1) / n
	for part := range n {
		pieces := cut(lengths, min(first+part*size, limit), min(first+(part+1)*size, limit))
		for step := 1; step < 2*n-1; step++ {
			before, at := (part+step-1)%n, (part+step)%n
			from, to := []held{{before, results}}, held{at, results}
			switch {
			case step == 1:
				from = []held{{before, operands}, {at, operands}}
			case step < n:
				from = []held{{before, sums}, {at, operands}}
			}
			if step < n-1 {
				to.holding = sums
			}
			for _, p := range pieces {
				all = append(all, move{round + step - 1, p.value, p.first, p.length, from, to, step == n-1})
			}
		}
	}
	return all
}

// Arrange implements [kernels.Arranger].
func (b *backend) Arrange(ctx context.Context, devices []kernels.Device, a kernels.Arrangement) ([]kernels.Communicator, error) {
	if err := a.Check(len(devices)); err != nil {
		return nil, fmt.Errorf("cuda: %w", err)
	}
	for _, d := range devices {
		if err := b.Open(d); err != nil {
			return nil, err
		}
	}
	if len(devices) == 1 {
		return []kernels.Communicator{&single{}}, nil
	}
	if a.Inner {
		return b.newInner(devices, &a)
	}
	g, err := b.empty(devices)
	if err != nil {
		return nil, err
	}
	g.arrangement = &a
	if err := g.introduce(); err != nil {
		return nil, err
	}
	return g.ends(), nil
}

// joined is the program of a move: it combines operands of the given types, of d or float32, in their order.
func joined(kind ir.Kind, d ir.DType, from []ir.DType, to ir.DType, length, n int, last bool) (*ir.Program, error) {
	b := &builder{Program: ir.New(fmt.Sprintf("%v of %d parts", kind, len(from)))}
	wide := d
	if d.IsHalf() {
		wide = ir.Float32
	}
	all := make([]ir.Value, len(from))
	for i, t := range from {
		all[i] = b.AddInput(fmt.Sprint("x", i), ir.Type{DType: t, Shape: ir.Shape{length}})
		if t != wide {
			all[i] = b.add(ir.Convert, ir.ConvertAttrs{DType: wide}, all[i])
		}
	}
	among := kind
	if kind == ir.Mean {
		among = ir.Sum
	}
	y := b.reduce(among, wide, all)
	if kind == ir.Mean && last && b.err == nil {
		y = b.add(ir.Div, nil, y, b.add(ir.Constant, ir.ConstantAttrs{Literal: ir.Scalar(wide, float64(n), length)}))
	}
	if to != wide {
		y = b.add(ir.Convert, ir.ConvertAttrs{DType: to}, y)
	}
	b.AddOutput("y", y)
	return b.Program, b.err
}
