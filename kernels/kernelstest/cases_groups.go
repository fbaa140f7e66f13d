package kernelstest

import (
	"fmt"

	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/reference"
)

// groupsOf are ways to divide n replicas into groups, not in the order of their numbers.
func groupsOf(n int) [][][]int {
	switch n {
	case 1:
		return [][][]int{{{0}}}
	case 2:
		return [][][]int{{{0}, {1}}, {{1, 0}}}
	case 3:
		return [][][]int{{{2, 0, 1}}, {{2}, {0}, {1}}}
	default:
		return [][][]int{{{0, 2}, {3, 1}}, {{0, 1}, {2, 3}}}
	}
}

// groupCases are programs in which replicas meet in groups, each op of the family in one of them.
func groupCases() []replicaCase {
	type makers = []func() reference.Value
	var cases []replicaCase
	add := func(name string, units float64, build func(p program, d *draft, a ir.CollectiveAttrs) makers) {
		for which := range 2 {
			cases = append(cases, replicaCase{fmt.Sprintf("%s in groups %d", name, which), units, func(p program, d *draft, n int) makers {
				all := groupsOf(n)
				return build(p, d, ir.CollectiveAttrs{Replicas: n, Groups: all[which%len(all)]})
			}})
		}
	}
	for _, kind := range []ir.Kind{ir.Sum, ir.Max, ir.Mean} {
		for _, dtype := range []ir.DType{ir.Float32, ir.BFloat16} {
			add(fmt.Sprintf("all_reduce %s %v", kind, dtype), 8, func(p program, d *draft, a ir.CollectiveAttrs) makers {
				a.Kind = kind
				x, y := p.in(dtype, 7, 5), p.in(dtype, 130)
				sums := p.ops(ir.AllReduce, a, x, y, p.in(dtype, 0))
				a.Groups = nil // the replicas meet all together in between
				all := p.op(ir.AllReduce, a, y)
				p.out(append(sums, all)...)
				return makers{func() reference.Value { return d.normal(dtype, 7, 5) }, func() reference.Value { return d.normal(dtype, 130) }, func() reference.Value { return d.normal(dtype, 0) }}
			})
		}
	}
	for axis := range 2 {
		add(fmt.Sprintf("all_gather axis %d", axis), 0, func(p program, d *draft, a ir.CollectiveAttrs) makers {
			a.Axis = axis
			p.out(p.op(ir.AllGather, a, p.in(ir.Int32, 3, 5)))
			return makers{func() reference.Value { return d.normal(ir.Int32, 3, 5) }}
		})
		add(fmt.Sprintf("reduce_scatter axis %d", axis), 8, func(p program, d *draft, a ir.CollectiveAttrs) makers {
			a.Axis, a.Kind = axis, ir.Sum
			p.out(p.op(ir.ReduceScatter, a, p.in(ir.Float32, 12, 24)))
			return makers{func() reference.Value { return d.normal(ir.Float32, 12, 24) }}
		})
	}
	add("collective_broadcast", 0, func(p program, d *draft, a ir.CollectiveAttrs) makers {
		a.Root = a.Size() - 1
		p.out(p.op(ir.CollectiveBroadcast, a, p.in(ir.Float32, 4, 3)))
		return makers{func() reference.Value { return d.normal(ir.Float32, 4, 3) }}
	})
	add("inside a scan", 64, func(p program, d *draft, a ir.CollectiveAttrs) makers {
		a.Kind = ir.Mean
		body := newProgram("body")
		c, x := body.in(ir.Float32, 3), body.in(ir.Float32, 3)
		sum := body.op(ir.AllReduce, a, body.op(ir.Add, nil, c, x))
		body.out(sum, sum)
		p.out(p.ops(ir.Scan, ir.ScanAttrs{Body: body.Program, Length: 4, Carry: 1, Xs: 1}, p.in(ir.Float32, 3), p.in(ir.Float32, 4, 3))...)
		return makers{func() reference.Value { return d.normal(ir.Float32, 3) }, func() reference.Value { return d.normal(ir.Float32, 4, 3) }}
	})
	return cases
}
