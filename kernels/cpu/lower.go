package cpu

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
)

// build is the compilation of one unit that is not elementwise.
type build struct {
	*placement
	c    *compiler
	u    *unit
	n    *ir.Node // the one node, or the product of a fused unit
	kids []child

	gathers bool // a convolution gathers the moments of its result
}

// builders holds the kernels of the ops that are not elementwise. A builder returns the function that runs the unit.
var builders map[ir.Op]func(b *build) (func(), error)

func init() {
	builders = map[ir.Op]func(b *build) (func(), error){
		ir.Iota: buildIota, ir.RngBits: buildRngBits,
		ir.Reshape: buildReshape, ir.Transpose: buildTranspose, ir.Broadcast: buildBroadcast, ir.Slice: buildSlice, ir.Pad: buildPad,
		ir.Concat: buildConcat, ir.Reverse: buildReverse, ir.BitCast: buildReshape,
		ir.DynamicSlice: buildDynamicSlice, ir.DynamicUpdateSlice: buildDynamicUpdateSlice,
		ir.Dot: buildDot, ir.Gather: buildGather, ir.Embedding: buildGather, ir.Scatter: buildScatter, ir.EmbeddingGrad: buildEmbeddingGrad,
		ir.Reduce: buildReduce, ir.ArgMax: buildArg, ir.ArgMin: buildArg, ir.Cumulative: buildCumulative,
		ir.Sort: buildSort, ir.TopK: buildTopK,
		ir.Scan: buildScan, ir.While: buildWhile, ir.Cond: buildCond,
		ir.Conv: buildConv, ir.ConvInputGrad: buildConvInputGrad, ir.ConvKernelGrad: buildConvKernelGrad,
		ir.MaxPool: buildMaxPool, ir.MaxPoolGrad: buildMaxPoolGrad, ir.AvgPool: buildAvgPool, ir.AvgPoolGrad: buildAvgPoolGrad,
		ir.Resample: buildResample, ir.Eliminate: buildEliminate,
		ir.Fourier: buildFourier, ir.RealFourier: buildRealFourier, ir.HermitianFourier: buildHermitianFourier,
		ir.BatchNorm: buildBatchNorm, ir.BatchNormGrad: buildBatchNormGrad,
		ir.LayerNorm: buildLayerNorm, ir.LayerNormGrad: buildLayerNormGrad,
		ir.GroupNorm: buildGroupNorm, ir.GroupNormGrad: buildGroupNormGrad,
		ir.LstmCell: buildLstmCell, ir.LstmCellGrad: buildLstmCellGrad, ir.GruCell: buildGruCell, ir.GruCellGrad: buildGruCellGrad,
		ir.Softmax: buildSoftmax, ir.SoftmaxGrad: buildSoftmaxGrad, ir.LogSoftmax: buildLogSoftmax, ir.LogSoftmaxGrad: buildLogSoftmaxGrad,
		ir.SparseSoftmaxCrossEntropy: buildCrossEntropy, ir.SparseSoftmaxCrossEntropyGrad: buildCrossEntropyGrad,
		ir.Attention: buildAttention, ir.AttentionGrad: buildAttentionGrad,
		ir.Dropout: buildDropout, ir.OptimizerUpdate: buildOptimizerUpdate,
		ir.AllReduce: buildAllReduce, ir.AllGather: buildAllGather, ir.ReduceScatter: buildReduceScatter,
		ir.CollectiveBroadcast: buildCollectiveBroadcast, ir.ReplicaID: buildReplicaID,
	}
}

// in returns an operand of the node.
func (b *build) in(i int) *operand { return &b.operands[b.n.Inputs[i]] }

// out returns a result of the node; the first one of a fused unit is what comes out of its epilogue.
func (b *build) out(i int) *operand {
	if b.u.fused != nil && i == 0 {
		return &b.operands[b.u.fused.result]
	}
	return &b.operands[b.n.Outputs[i]]
}

// workspace reserves memory that the unit may use while it runs.
func (b *build) workspace(bytes int) *storage {
	m := b.newStorage(inArena, bytes)
	m.first, m.last = b.u.time, b.u.time
	return m
}

// scratch reserves memory for n elements of a type.
func (b *build) scratch(d ir.DType, n int) *operand {
	return &operand{mem: b.workspace(n * d.Size()), typ: ir.Type{DType: d, Shape: ir.Shape{n}}, n: n}
}

func (b *build) rt() *runtime { return b.c.rt }

// fail describes a program that this backend cannot run.
func (b *build) unsupported(format string, args ...any) error {
	return fmt.Errorf("cpu: %v (scope %q): %s", b.n.Op, b.n.Scope, fmt.Sprintf(format, args...))
}

// compiler makes the schedule of a program and its sub-programs for one session.
type compiler struct {
	rt       *runtime
	passes   *passes // of the executable
	device   kernels.Device
	replica  int
	replicas int
	overlap  bool                     // all-reduces go on while the replica computes
	plain    bool                     // see graph
	packed   map[packedRight]*operand // matrices of a scan's body, packed
}

// compile turns a verified program into a schedule.
func (c *compiler) compile(source *ir.Program, aliases bool) (*schedule, error) {
	q, err := c.passes.of(source, func() (*ir.Program, error) { return c.improve(source) })
	if err != nil {
		return nil, err
	}
	g := newGraph(q)
	g.plain, g.overlap = c.plain, c.overlap
	g.group()
	if aliases && !c.plain {
		g.joinDescent()
		g.hoistUpdates()
		g.bucketUpdates()
	}
	g.addWaits()
	p := g.place(aliases)
	if p.err != nil {
		return nil, p.err
	}
	s := &schedule{inputs: p.inputs, outputs: p.outputs, nodes: len(source.Nodes)}
	for _, u := range g.units {
		st, err := c.lower(p, u, s)
		if err != nil {
			return nil, err
		}
		switch {
		case st.run == nil:
		case u.constant:
			s.prologue = append(s.prologue, st)
		default:
			s.steps = append(s.steps, st)
		}
	}
	c.lowerCopies(p, s)
	s.storages = p.storages
	if s.bytes = planMemory(p.storages); s.bytes >= worthNaming {
		s.largest = p.largest()
	}
	return s, nil
}

// improve runs the passes that make programs of programs.
func (c *compiler) improve(source *ir.Program) (*ir.Program, error) {
	q, err := normalize(source, c.replicas)
	if err != nil || c.plain {
		return q, err
	}
	if q, err = improveScans(q, c.replicas); err != nil {
		return nil, err
	}
	return recomputeCheap(q)
}

// improveScans rewrites what passes between loops and the rest of the program.
func improveScans(p *ir.Program, replicas int) (*ir.Program, error) {
	if !slices.ContainsFunc(p.Nodes, func(n ir.Node) bool { return n.Op == ir.Scan }) {
		return p, nil
	}
	q, err := sumAfterScans(p)
	if err == nil {
		q, err = recomputeInScans(q)
	}
	if err == nil {
		q, err = pullIntoScans(q, replicas)
	}
	if err == nil {
		q, err = transposeBeforeScans(q, replicas)
	}
	if err == nil && q != p {
		q, err = normalize(q, replicas)
	}
	if err == nil {
		q, err = alignSums(q)
	}
	if err != nil {
		return nil, err
	}
	bySteps, err := lookUpBySteps(q)
	if err == nil && bySteps != q {
		return normalize(bySteps, replicas)
	}
	return q, err
}

// lower compiles one unit.
func (c *compiler) lower(p *placement, u *unit, s *schedule) (step, error) {
	st := step{scope: p.p.Nodes[u.nodes[len(u.nodes)-1]].Scope}
	var names []string
	for _, i := range slices.Concat(u.nodes, u.sinks) {
		names = append(names, p.p.Nodes[i].Op.String())
	}
	st.name = strings.Join(names, "+")
	if u.awaits != nil {
		return c.lowerWait(p, u), nil
	}
	st.describe(p, u)
	st.role = p.roleOf(u)
	if u.elementwise {
		st.run = p.compileElementwise(u, c.rt)
		return st, nil
	}
	anchor := u.nodes[0]
	if u.fused != nil {
		anchor = u.fused.anchor
	}
	b := &build{placement: p, c: c, u: u, n: &p.p.Nodes[anchor]}
	var err error
	special := false
	switch {
	case c.plain:
	case b.n.Op == ir.Dot && u.fused == nil && len(u.nodes) == 2:
		st.run, err = buildDescent(b)
		return st, err
	case b.n.Op == ir.Dot:
		st.run, special = b.specialDot()
	case b.n.Op == ir.Reduce:
		st.run, special = b.summedBefore()
	}
	if !special {
		st.run, err = builders[b.n.Op](b)
	}
	if b.gathers {
		st.name += "+moments"
	}
	s.children = append(s.children, b.kids...)
	return st, err
}

// specialDot returns the kernel of a product that has a faster one than most.
func (b *build) specialDot() (func(), bool) {
	if run, ok := b.packedDot(); ok {
		return run, true
	}
	return b.longDot()
}

// lowerCopies adds the steps that move values into output buffers: first those that leave a buffer that will be
// overwritten, then the others.
func (c *compiler) lowerCopies(p *placement, s *schedule) {
	for i := range p.copies {
		if o := &p.copies[i]; o.stage != nil {
			from, to := o.from, o.stage
			s.steps = append(s.steps, step{run: func() { copyOperand(to, &from) }, name: "copy"})
			o.from = *o.stage
		}
	}
	for i := range p.copies {
		from, to := p.copies[i].from, p.copies[i].to
		s.steps = append(s.steps, step{run: func() { copyOperand(&to, &from) }, name: "copy"})
	}
}

func copyOperand(to, from *operand) {
	if to.n > 0 && to.ptr() != from.ptr() {
		copy(raw(to), raw(from))
	}
}
