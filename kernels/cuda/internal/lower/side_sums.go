package lower

import (
	"slices"

	"github.com/gokeras/gokeras/kernels/cuda/internal/ptx"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/ir/pass"
)

// The gradient of a bias is the sum of dy over the examples, and the gradient of the matrix before it is xᵀ·dy. The
// kernel of the product has dy in shared memory, and also sums its columns. That saves reading dy again, and a launch.
// Only the blocks of the first row of tiles do so.

// sideSum is a contraction's operand summed over k: the columns of B, or the rows of A.
type sideSum struct {
	n    *ir.Node // the Reduce
	root ir.Value // what its kernel would write
	left bool     // it sums A
}

// maxSums is the maximum number of sums that a product's kernel computes.
const maxSums = 2

// sumsByProducts returns the pass that moves a product to just before a sum that its kernel can compute too, so that
// everything that reads the sum comes after both.
func sumsByProducts() pass.Pass {
	return pass.New("sums by products", func(p *ir.Program) (*ir.Program, error) {
		_, def := pass.Uses(p)
		before := map[int]int{} // by product
		for i := range p.Nodes {
			for j := i + 1; j < min(len(p.Nodes), i+lookAhead); j++ {
				if _, taken := before[j]; taken || !isSideSum(p, def, i, j) {
					continue
				}
				if !slices.ContainsFunc(p.Nodes[j].Inputs, func(v ir.Value) bool { return def[v] >= i }) {
					before[j] = i
				}
				break
			}
		}
		if len(before) == 0 {
			return p, nil
		}
		moved := map[int][]int{} // by Reduce
		for j, i := range before {
			moved[i] = append(moved[i], j)
		}
		r := pass.NewRewriter(p)
		add := func(i int) error {
			n := &p.Nodes[i]
			results, err := r.To.Add(n.Scope, n.Op, n.Attrs, r.Operands(n)...)
			if err == nil {
				err = r.Define(n, results)
			}
			return err
		}
		for i := range p.Nodes {
			if _, earlier := before[i]; earlier {
				continue
			}
			for _, at := range append(moved[i], i) {
				if err := add(at); err != nil {
					return nil, err
				}
			}
		}
		return r.Finish(), nil
	})
}

// isSideSum reports whether node i of a program is a sum that the kernel of product j can compute.
func isSideSum(p *ir.Program, def []int, i, j int) bool {
	v, ok := summed(p, def, &p.Nodes[i])
	if !ok || p.Nodes[j].Op != ir.Dot && p.Nodes[j].Op != ir.ConvKernelGrad {
		return false
	}
	_, ok = contracts(p, &p.Nodes[j], v, p.Nodes[i].Attrs.(ir.ReduceAttrs).Axes)
	return ok
}

// summed is the value in memory that a node sums.
func summed(p *ir.Program, def []int, n *ir.Node) (v ir.Value, ok bool) {
	if n.Op != ir.Reduce || n.Attrs.(ir.ReduceAttrs).Kind != ir.Sum || !p.Type(n.Inputs[0]).DType.IsFloat() {
		return 0, false
	}
	v = n.Inputs[0]
	if d := def[v]; d >= 0 && isWidening(p, &p.Nodes[d]) {
		v = p.Nodes[d].Inputs[0]
	}
	return v, true
}

// findSums finds, for a product that node j computes, sums after it that its kernel can compute too.
func (s *scope) findSums(f *fusion, j int) {
	product := &s.p.Nodes[j]
	if f.anchor[j] != nil {
		product = f.anchor[j]
	}
	if product.Op != ir.Dot && product.Op != ir.ConvKernelGrad {
		return
	}
	for i := j + 1; i < min(len(s.p.Nodes), j+lookAhead) && len(s.sums) < maxSums; i++ {
		n, root := s.reduces(f, i), s.p.Nodes[i].Outputs[0]
		if n == nil || s.early[i] || len(f.checks[i]) > 0 || s.p.Type(root).Shape.Size() == 0 {
			continue
		}
		if s.committed[root] && !(s.committed[s.p.Nodes[j].Outputs[0]] && s.unread(f, j, i, s.replaced(root))) {
			continue
		}
		v, ok := summed(s.p, s.position, n)
		if !ok {
			continue
		}
		left, ok := contracts(s.p, product, v, n.Attrs.(ir.ReduceAttrs).Axes)
		for u := range s.readsOf(f, &s.p.Nodes[i]).inPlace {
			ok = ok && s.inMemory[u] && !s.underWay.brings(u)
		}
		if ok {
			s.sums = append(s.sums, sideSum{n, root, left})
			s.early[i] = true
		}
	}
}

// unread reports whether no kernel between two nodes reads a value, and none that waits for its launch does.
func (s *scope) unread(f *fusion, from, to int, v ir.Value) bool {
	if s.pending != nil && len(s.pending.readers[v]) > 0 {
		return false
	}
	for k := from + 1; k < to; k++ {
		if _, reads := s.readsOf(f, &s.p.Nodes[k]).inPlace[v]; f.kernel[k] && !s.early[k] && reads {
			return false
		}
	}
	return true
}

// contracts reports whether a node is a product without a batch that sums v, of its own type, over exactly these axes.
func contracts(p *ir.Program, n *ir.Node, v ir.Value, axes []int) (left, ok bool) {
	equal := func(contracted []int) bool {
		return slices.Equal(slices.Sorted(slices.Values(contracted)), slices.Sorted(slices.Values(axes)))
	}
	out := p.Type(n.Outputs[0])
	if out.Shape.Size() == 0 || out.DType != p.Type(v).DType {
		return false, false
	}
	switch a := n.Attrs.(type) {
	case ir.DotAttrs:
		switch {
		case len(a.LhsBatch) > 0:
			return false, false
		case n.Inputs[1] == v && equal(a.RhsContract):
			return false, true
		}
		return true, n.Inputs[0] == v && equal(a.LhsContract)
	case ir.ConvGradAttrs:
		last := len(p.Type(v).Shape) - 1
		return false, n.Op == ir.ConvKernelGrad && a.Conv.Groups <= 1 && n.Inputs[1] == v && len(axes) == last && !slices.Contains(axes, last)
	}
	return false, false
}

// summing is a row or column that a thread sums.
type summing struct {
	sideSum
	mine   ptx.Operand // whether the thread has one
	within ptx.Operand // its number in the tile
	number ptx.Operand // its number in the operand
	total  ptx.Operand
}

// summing prepares the sums of a block whose tile begins at a row and a column.
func (g *gen) summing(c contraction, tid, firstM, firstN ptx.Operand, m, n, block int, class ptx.Class) []*summing {
	var all []*summing
	for _, q := range c.sums {
		first, other, length, tile := firstN, firstM, c.n, n
		if q.left {
			first, other, length, tile = firstM, firstN, c.m, m
		}
		for from := 0; from < tile; from += block {
			within := g.mov(ptx.B32, g.add(tid, ptx.Int32(int64(from))))
			number := g.mov(ptx.B32, g.add(first, within))
			mine := g.both(g.compare("lt", "u32", number, ptx.Int32(int64(length))), g.compare("eq", "s32", g.mov(ptx.B32, other), ptx.Int32(0)))
			if from+block > tile {
				mine = g.both(mine, g.compare("lt", "u32", within, ptx.Int32(int64(tile))))
			}
			all = append(all, &summing{q, mine, within, number, g.mov(class, g.constantOf(class))})
		}
	}
	return all
}

// addTo adds numbers to the thread's sum, if it has one.
func (g *gen) addTo(q *summing, numbers func(add func(x ptx.Operand))) {
	skip := g.k.Label()
	g.k.BranchUnless(q.mine, skip)
	g.apart(func() {
		numbers(func(x ptx.Operand) {
			g.assign(q.total, g.k.Op(q.total.Class, "add.rn."+sharedType(q.total.Class), q.total, x))
		})
	})
	g.k.Place(skip)
}

// handOut passes the sums on as results.
func (g *gen) handOut(all []*summing, part ptx.Operand, result func(q sideSum, part, number, sum ptx.Operand)) {
	for _, q := range all {
		skip := g.k.Label()
		g.k.BranchUnless(q.mine, skip)
		g.apart(func() { result(q.sideSum, part, q.number, q.total) })
		g.k.Place(skip)
	}
}

// addStrips adds the numbers in a tile's strips, [depth][pitch].
func (g *gen) addStrips(all []*summing, baseA, baseB ptx.Operand, pitch int, class ptx.Class) {
	size := sizeOf(class)
	for _, q := range all {
		base := baseB
		if q.left {
			base = baseA
		}
		g.addTo(q, func(add func(x ptx.Operand)) {
			from := g.k.Op(ptx.B32, "mad.lo.s32", q.within, ptx.Int32(int64(size)), base)
			for step := range depth {
				add(g.k.Op(class, "ld.shared."+sharedType(class), ptx.Raw("["+from.String()+"+"+itoa(step*pitch*size)+"]")))
			}
		})
	}
}

// addSums prepares the sums for a tile of tensor cores, and returns a function that adds those of a stage.
func (t *tensor) addSums() (all []*summing, add func(stage ptx.Operand)) {
	g, k := t.gen, t.k
	all = g.summing(t.c, k.Op(ptx.B32, "mov.u32", special("%tid.x")), t.firstM, t.firstN, t.m, t.n, t.block, ptx.F32)
	return all, func(stage ptx.Operand) {
		for _, q := range all {
			p := &t.b
			if q.left {
				p = &t.a
			}
			g.addTo(q, func(add func(x ptx.Operand)) {
				begin := k.Op(ptx.B32, "add.s32", t.base, stage)
				for _, at := range p.alongDepth(g, begin, q.within) {
					if p.size == 4 {
						add(k.Op(ptx.F32, "ld.shared.f32", at))
						continue
					}
					add(g.widen(p.dtype, k.Op(ptx.B32, "ld.shared.u16", at)))
				}
			})
		}
	}
}

// alongDepth returns the addresses of a stage's elements along k, for an outer index.
func (p *panel) alongDepth(g *gen, begin, outer ptx.Operand) []ptx.Operand {
	var all []ptx.Operand
	at := func(base ptx.Operand, bytes int) {
		all = append(all, ptx.Raw("["+base.String()+"+"+itoa(p.offset+bytes)+"]"))
	}
	byOuter, byK := p.strides()
	if !p.group {
		base := g.k.Op(ptx.B32, "mad.lo.s32", outer, ptx.Int32(int64(byOuter)), begin)
		for i := range p.depth {
			at(base, i*byK)
		}
		return all
	}
	// The chunks of eight lines are swizzled: by k if lines do not run along it, otherwise by the outer index.
	const each = groupLineBytes / chunkBytes
	perChunk := chunkBytes / p.size
	base := make([]ptx.Operand, each)
	for i := range base {
		line, position := ptx.Int32(int64(i)), outer
		if p.fast {
			line, position = outer, ptx.Int32(int64(i*perChunk))
		}
		place := g.add(p.slot(g, line, position), begin)
		if !p.fast {
			place = g.add(place, g.times(g.mod(outer, perChunk), p.size))
		}
		base[i] = g.mov(ptx.B32, place)
	}
	for i := range p.depth {
		if p.fast {
			at(base[i/perChunk%each], i%perChunk*p.size)
		} else {
			at(base[i%each], i/each*each*groupLineBytes)
		}
	}
	return all
}
