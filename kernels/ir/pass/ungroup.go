package pass

import (
	"slices"

	"github.com/gokeras/gokeras/internal/ints"
	"github.com/gokeras/gokeras/kernels/ir"
)

// Ungroup returns the pass that turns collectives of groups of replicas into collectives of all replicas: every replica
// gathers the values of all and keeps those of its group. It is for backends whose collectives always include all
// replicas.
func Ungroup() Pass { return Inside(New("ungroup", ungroup)) }

func ungroup(p *ir.Program) (*ir.Program, error) {
	grouped := func(n ir.Node) bool {
		a, ok := n.Attrs.(ir.CollectiveAttrs)
		return ok && n.Op.IsCollective() && a.Groups != nil
	}
	if !slices.ContainsFunc(p.Nodes, grouped) {
		return p, nil
	}
	u := &ungrouper{Rewriter: NewRewriter(p)}
	for i := range p.Nodes {
		n := &p.Nodes[i]
		if !grouped(*n) {
			if err := u.Keep(n); err != nil {
				return nil, err
			}
			continue
		}
		u.node = n
		results, err := u.collective(n.Attrs.(ir.CollectiveAttrs), u.Operands(n))
		if err == nil {
			err = u.Define(n, results)
		}
		if err != nil {
			return nil, err
		}
	}
	return u.Finish(), nil
}

// ungrouper rewrites one collective after the other. It keeps the first error.
type ungrouper struct {
	*Rewriter
	node *ir.Node
	err  error
}

func (u *ungrouper) add(op ir.Op, attrs ir.Attrs, in ...ir.Value) ir.Value {
	if u.err != nil {
		return 0
	}
	out, err := u.To.Add(u.node.Scope, op, attrs, in...)
	if err != nil {
		u.err = err
		return 0
	}
	return out[0]
}

func (u *ungrouper) shape(v ir.Value) ir.Shape {
	if u.err != nil {
		return nil
	}
	return u.To.Type(v).Shape
}

func (u *ungrouper) collective(a ir.CollectiveAttrs, in []ir.Value) ([]ir.Value, error) {
	out := make([]ir.Value, len(in))
	for i, v := range in {
		switch u.node.Op {
		case ir.AllReduce:
			out[i] = u.reduced(a, v)
		case ir.AllGather:
			out[i] = u.joined(a, v)
		case ir.ReduceScatter:
			sum := u.reduced(a, v)
			places := make([]int32, a.Replicas)
			for r := range places {
				_, place := a.Group(r)
				places[r] = int32(place)
			}
			out[i] = u.part(a, sum, u.own(a, places, 1))
		default: // the root's
			of := u.members(a, v)
			root := u.add(ir.Slice, cutFirst(u.shape(of), a.Root), of)
			out[i] = u.add(ir.Reshape, ir.ReshapeAttrs{Shape: u.shape(v)}, root)
		}
	}
	return out, u.err
}

// cutFirst is one element of the first axis.
func cutFirst(shape ir.Shape, i int) ir.SliceAttrs {
	a := ir.SliceAttrs{Start: make([]int, len(shape)), Limit: slices.Clone(shape), Stride: ints.Repeat(1, len(shape))}
	if len(shape) > 0 {
		a.Start[0], a.Limit[0] = i, i+1
	}
	return a
}

// own is the replica's row of a table that has each numbers per replica.
func (u *ungrouper) own(a ir.CollectiveAttrs, table []int32, each int) ir.Value {
	numbers := make([]float64, len(table))
	for i, n := range table {
		numbers[i] = float64(n)
	}
	literal, err := ir.Floats(ir.Int32, ir.Shape{a.Replicas, each}, numbers)
	if err != nil && u.err == nil {
		u.err = err
	}
	all := u.add(ir.Constant, ir.ConstantAttrs{Literal: literal})
	id := u.add(ir.Convert, ir.ConvertAttrs{DType: ir.Int32}, u.add(ir.ReplicaID, ir.CollectiveAttrs{Replicas: a.Replicas}))
	return u.add(ir.DynamicSlice, ir.DynamicSliceAttrs{Sizes: []int{1, each}}, all, id, u.zero())
}

func (u *ungrouper) zero() ir.Value {
	return u.add(ir.Constant, ir.ConstantAttrs{Literal: ir.Scalar(ir.Int32, 0)})
}

// members are the values of the replica's group, along a new first axis.
func (u *ungrouper) members(a ir.CollectiveAttrs, v ir.Value) ir.Value {
	var table []int32
	for r := range a.Replicas {
		group, _ := a.Group(r)
		for _, m := range group {
			table = append(table, int32(m))
		}
	}
	stacked := u.add(ir.Reshape, ir.ReshapeAttrs{Shape: append(ir.Shape{1}, u.shape(v)...)}, v)
	stacked = u.add(ir.AllGather, ir.CollectiveAttrs{Replicas: a.Replicas}, stacked)
	which := u.add(ir.Reshape, ir.ReshapeAttrs{Shape: ir.Shape{a.Size()}}, u.own(a, table, a.Size()))
	return u.add(ir.Gather, ir.GatherAttrs{Mode: ir.IndexClip}, stacked, which)
}

// reduced combines the group's values, in its order.
func (u *ungrouper) reduced(a ir.CollectiveAttrs, v ir.Value) ir.Value {
	if u.err != nil {
		return 0
	}
	t := u.To.Type(v)
	kind := a.Kind
	if kind == ir.Mean {
		kind = ir.Sum
	}
	all := u.members(a, v)
	wide := t.DType.IsHalf()
	if wide {
		all = u.add(ir.Convert, ir.ConvertAttrs{DType: ir.Float32}, all)
	}
	sum := u.add(ir.Reduce, ir.ReduceAttrs{Kind: kind, Axes: []int{0}}, all)
	if a.Kind == ir.Mean && u.err == nil {
		of := u.To.Type(sum)
		by := ir.Scalar(of.DType, float64(a.Size()), of.Shape...)
		sum = u.add(ir.Div, nil, sum, u.add(ir.Constant, ir.ConstantAttrs{Literal: by}))
	}
	if wide {
		sum = u.add(ir.Convert, ir.ConvertAttrs{DType: t.DType}, sum)
	}
	return sum
}

// joined concatenates the group's values along an axis.
func (u *ungrouper) joined(a ir.CollectiveAttrs, v ir.Value) ir.Value {
	shape := u.shape(v).Clone()
	all := u.members(a, v)
	perm := make([]int, 0, len(shape)+1)
	for i := range shape {
		if i == a.Axis {
			perm = append(perm, 0)
		}
		perm = append(perm, i+1)
	}
	all = u.add(ir.Transpose, ir.TransposeAttrs{Perm: perm}, all)
	if u.err == nil {
		shape[a.Axis] *= a.Size()
	}
	return u.add(ir.Reshape, ir.ReshapeAttrs{Shape: shape}, all)
}

// part cuts out the replica's part along the axis; place is its number there.
func (u *ungrouper) part(a ir.CollectiveAttrs, v, place ir.Value) ir.Value {
	sizes := slices.Clone(u.shape(v))
	if u.err != nil {
		return 0
	}
	sizes[a.Axis] /= a.Size()
	length := u.add(ir.Constant, ir.ConstantAttrs{Literal: ir.Scalar(ir.Int32, float64(sizes[a.Axis]))})
	start := u.add(ir.Mul, nil, u.add(ir.Reshape, ir.ReshapeAttrs{Shape: ir.Shape{}}, place), length)
	in := []ir.Value{v}
	for i := range sizes {
		if i == a.Axis {
			in = append(in, start)
		} else {
			in = append(in, u.zero())
		}
	}
	return u.add(ir.DynamicSlice, ir.DynamicSliceAttrs{Sizes: sizes}, in...)
}
