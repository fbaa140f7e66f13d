package lower

import (
	"math"

	"github.com/gokeras/gokeras/kernels/cuda/internal/ptx"
	"github.com/gokeras/gokeras/kernels/ir"
)

// accumulator is the class in which elements of a type are combined: booleans as integers.
func accumulator(d ir.DType) ptx.Class {
	if d == ir.Bool {
		return ptx.B32
	}
	return classOf(d)
}

// neutral is the neutral element.
func (g *gen) neutral(kind ir.Kind, d ir.DType) ptx.Operand {
	if d == ir.Bool {
		return ptx.Int32(int64(map[ir.Kind]int{ir.And: 1, ir.Min: 1, ir.Prod: 1}[kind]))
	}
	x := map[ir.Kind]float64{ir.Prod: 1, ir.Max: math.Inf(-1), ir.Min: math.Inf(1)}[kind]
	return g.constant(d, x)
}

// combine combines two accumulators.
func (g *gen) combine(kind ir.Kind, d ir.DType, x, y ptx.Operand) ptx.Operand {
	op := map[ir.Kind]ir.Op{ir.Sum: ir.Add, ir.Mean: ir.Add, ir.Prod: ir.Mul, ir.Max: ir.Maximum, ir.Min: ir.Minimum, ir.And: ir.BitAnd, ir.Or: ir.BitOr}[kind]
	if d == ir.Bool {
		d = ir.Int32
	}
	return g.binary(op, d, x, y)
}

func (g *gen) toAccumulator(d ir.DType, x ptx.Operand) ptx.Operand {
	if d == ir.Bool {
		return g.pick(x, ptx.Int32(1), ptx.Int32(0))
	}
	return x
}

func (g *gen) fromAccumulator(d ir.DType, x ptx.Operand) ptx.Operand {
	if d == ir.Bool {
		return g.compare("ne", "s32", x, ptx.Int32(0))
	}
	return x
}

// total is one of a kernel's reductions.
type total struct {
	n     *ir.Node
	root  ir.Value
	kind  ir.Kind
	dtype ir.DType
	class ptx.Class
}

// sum is a number that a thread keeps while combining elements.
type sum struct {
	kind  ir.Kind
	dtype ir.DType
	class ptx.Class
}

func (s *scope) total(n *ir.Node, root ir.Value) *total {
	d := s.p.Type(n.Inputs[0]).DType
	return &total{n, root, n.Attrs.(ir.ReduceAttrs).Kind, d, accumulator(d)}
}

// findSums determines what is combined.
func (r *reduction) findSums() {
	first := r.all[0]
	if r.moments {
		s := sum{ir.Sum, first.dtype, first.class}
		r.sums = []sum{s, s, s}
		return
	}
	for _, t := range r.all {
		r.sums = append(r.sums, sum{t.kind, t.dtype, t.class})
	}
}

// begin returns initialized registers for the sums.
func (r *reduction) begin(g *gen) []ptx.Operand {
	sums := make([]ptx.Operand, len(r.sums))
	for i, t := range r.sums {
		sums[i] = g.mov(t.class, g.neutral(t.kind, t.dtype))
	}
	return sums
}

// merge merges another thread's sums.
func (r *reduction) merge(g *gen, sums, theirs []ptx.Operand) {
	if r.moments {
		g.mergeMoments(sums, theirs)
		return
	}
	for i, t := range r.sums {
		g.assign(sums[i], g.combine(t.kind, t.dtype, sums[i], theirs[i]))
	}
}

// totals returns the results.
func (r *reduction) totals(g *gen, sums []ptx.Operand) []ptx.Operand {
	if !r.moments {
		return sums
	}
	m := g.calc(r.sums[0].class)
	return []ptx.Operand{m.mul(sums[1], sums[0]), sums[2]}
}

// accumulating combines an output's elements from first to below limit, in steps.
type accumulating func(x *index, first, limit ptx.Operand, step int) []ptx.Operand

// accumulate reads elements one by one, or several at once, so that more loads overlap.
func (r *reduction) accumulate(g *gen, several bool) accumulating {
	return func(x *index, first, limit ptx.Operand, step int) []ptx.Operand {
		sums := r.begin(g)
		elements := func(at *index) (list []ptx.Operand) {
			for _, t := range r.all {
				list = append(list, g.mov(t.class, g.toAccumulator(t.dtype, g.value(t.n.Inputs[0], at))))
				if r.moments {
					break
				}
			}
			return list
		}
		if several || r.moments {
			first = g.mov(ptx.B32, first)
			const many = 4
			g.loopOn(first, g.lessThan(limit, (many-1)*step), many*step, func(i ptx.Operand) {
				var read [many][]ptx.Operand
				for e := range read {
					read[e] = elements(r.index(g, x, g.add(i, ptx.Int32(int64(e*step)))))
				}
				if r.moments {
					g.mergeMoments(sums, g.momentsOf(read[0][0], read[1][0], read[2][0], read[3][0]))
					return
				}
				for _, e := range read {
					r.merge(g, sums, e)
				}
			})
		}
		g.loop(first, limit, step, func(i ptx.Operand) {
			e := elements(r.index(g, x, i))
			if r.moments {
				e = g.momentsOf(e...)
			}
			r.merge(g, sums, e)
		})
		return sums
	}
}
