package cpu

import (
	"fmt"
	"strings"

	"github.com/gokeras/gokeras/internal/ints"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/cpu/internal/fuse"
	"github.com/gokeras/gokeras/kernels/cpu/internal/plan"
	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
	"github.com/gokeras/gokeras/kernels/ir"
)

// build is the compilation of one unit that is not elementwise.
type build struct {
	*placement
	c    *compiler
	u    *fuse.Unit
	n    *ir.Node // the unit's only node, or the product of a fused unit
	kids []child

	gathers bool // the convolution also computes the moments of its result
	part    bool // compiles a part of an operation's examples: the bits may not depend on the number of parts
}

// builders holds the kernels of all ops that are not elementwise. A builder returns the function that runs the unit.
var builders map[ir.Op]func(b *build) (func(), error)

func init() {
	builders = map[ir.Op]func(b *build) (func(), error){
		ir.Iota: buildIota, ir.RngBits: buildRngBits,
		ir.Reshape: buildReshape, ir.Transpose: buildTranspose, ir.Broadcast: buildBroadcast, ir.Slice: buildSlice, ir.Pad: buildPad,
		ir.Concat: buildConcat, ir.Reverse: buildReverse, ir.BitCast: buildReshape,
		ir.DynamicSlice: buildDynamicSlice, ir.DynamicUpdateSlice: buildDynamicUpdateSlice,
		ir.Dot: buildDot, ir.Gather: buildGather, ir.Embedding: buildGather, ir.Scatter: buildScatter, ir.EmbeddingGrad: buildEmbeddingGrad,
		ir.Reduce: buildReduce, ir.ArgMax: buildArg, ir.ArgMin: buildArg, ir.Cumulative: buildCumulative,
		ir.Sort: buildSort, ir.TopK: buildTopK, ir.CheckFinite: buildCheckFinite,
		ir.Scan: buildScan, ir.While: buildWhile, ir.Cond: buildCond,
		ir.Conv: buildConv, ir.ConvInputGrad: buildByExamples(buildConvInputGrad), ir.ConvKernelGrad: buildConvKernelGrad,
		ir.MaxPool: buildMaxPool, ir.MaxPoolGrad: buildMaxPoolGrad, ir.AvgPool: buildByExamples(buildAvgPool), ir.AvgPoolGrad: buildByExamples(buildAvgPoolGrad),
		ir.Resample: buildResample, ir.Eliminate: buildEliminate, ir.Factor: buildFactor,
		ir.Fourier: buildFourier, ir.RealFourier: buildRealFourier, ir.HermitianFourier: buildHermitianFourier,
		ir.BatchNorm: buildBatchNorm, ir.BatchNormGrad: buildBatchNormGrad,
		ir.LayerNorm: buildLayerNorm, ir.LayerNormGrad: buildLayerNormGrad,
		ir.GroupNorm: buildGroupNorm, ir.GroupNormGrad: buildGroupNormGrad,
		ir.LstmCell: buildByExamples(buildLstmCell), ir.LstmCellGrad: buildByExamples(buildLstmCellGrad), ir.GruCell: buildByExamples(buildGruCell), ir.GruCellGrad: buildByExamples(buildGruCellGrad),
		ir.Softmax: buildByExamples(buildSoftmax), ir.SoftmaxGrad: buildByExamples(buildSoftmaxGrad), ir.LogSoftmax: buildByExamples(buildLogSoftmax), ir.LogSoftmaxGrad: buildByExamples(buildLogSoftmaxGrad),
		ir.SparseSoftmaxCrossEntropy: buildCrossEntropy, ir.SparseSoftmaxCrossEntropyGrad: buildCrossEntropyGrad,
		ir.Attention: buildPairsOr(attentionInPairs, buildAttention), ir.AttentionGrad: buildPairsOr(attentionGradInPairs, buildAttentionGrad),
		ir.PackedDot: buildPackedDot, ir.PackedEmbedding: buildPackedEmbedding, ir.Dropout: buildDropout, ir.OptimizerUpdate: buildOptimizerUpdate,
		ir.AllReduce: buildAllReduce, ir.AllGather: buildAllGather, ir.ReduceScatter: buildReduceScatter,
		ir.CollectiveBroadcast: buildCollectiveBroadcast, ir.ReplicaID: buildReplicaID,
	}
}

// in returns an operand of the node.
//
//go:noinline
func (b *build) in(i int) *plan.Operand {
	if b.u.Fused != nil {
		return &b.Operands[b.Before(b.n, i)]
	}
	return &b.Operands[b.n.Inputs[i]]
}

// out returns a result of the node. The first result of a fused unit is that of its epilogue.
//
//go:noinline
func (b *build) out(i int) *plan.Operand {
	if b.u.Fused != nil && i == 0 {
		return &b.Operands[b.u.Fused.Result]
	}
	return &b.Operands[b.n.Outputs[i]]
}

// workspace reserves memory for the unit to use while it runs.
//
//go:noinline
func (b *build) workspace(bytes int) *plan.Storage {
	m := b.NewStorage(plan.InArena, bytes)
	m.First, m.Last = b.u.Time, b.u.Time
	return m
}

// scratch reserves memory for n elements of a type.
//
//go:noinline
func (b *build) scratch(d ir.DType, n int) *plan.Operand {
	return &plan.Operand{Mem: b.workspace(n * d.Size()), Typ: ir.Type{DType: d, Shape: ir.Shape{n}}, N: n}
}

func (b *build) rt() *runtime { return b.c.rt }

// unsupported describes a program that this backend cannot run.
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
	overlap  bool                          // all-reduces run while the replica computes
	plain    bool                          // see fuse.Options
	packed   map[packedRight]*plan.Operand // matrices of a scan's body, packed
}

// compile turns a verified program into a schedule.
func (c *compiler) compile(source *ir.Program, aliases bool) (*schedule, error) {
	return c.compilePart(source, aliases, false)
}

// compilePart is compile for a program that may be part of one that only predicts.
func (c *compiler) compilePart(source *ir.Program, aliases, predicts bool) (*schedule, error) {
	q, err := c.passes.of(source, func() (*ir.Program, error) { return pipelineFor(c.replicas).improve(source, c.plain, aliases) })
	if err != nil {
		return nil, err
	}
	predicts = predicts || aliases && !c.plain && isInference(q)
	g := fuse.Build(q, fuse.Options{Overlap: c.overlap, Plain: c.plain, Updates: aliases, Predicts: predicts})
	p := &placement{Placement: plan.Place(g, aliases), predicts: predicts}
	if p.Err != nil {
		return nil, p.Err
	}
	s := &schedule{inputs: p.Inputs, outputs: p.Outputs, nodes: len(source.Nodes)}
	for _, u := range g.Units {
		st, err := c.lower(p, u, s)
		if err != nil {
			return nil, err
		}
		switch {
		case st.run == nil:
		case u.Constant:
			s.prologue = append(s.prologue, st)
		default:
			s.steps = append(s.steps, st)
		}
	}
	c.lowerCopies(p, s)
	s.storages = p.Storages
	if s.bytes = plan.Memory(p.Storages); s.bytes >= plan.WorthNaming {
		s.largest = p.Largest()
	}
	return s, nil
}

// lower compiles one unit.
func (c *compiler) lower(p *placement, u *fuse.Unit, s *schedule) (step, error) {
	nodes := ints.Concat(u.Nodes, u.Sinks)
	st := step{scope: p.Program.Nodes[nodes[max(len(u.Nodes)-1, 0)]].Scope}
	var names []string
	for _, i := range nodes {
		names = append(names, p.Program.Nodes[i].Op.String())
	}
	st.name = strings.Join(names, "+")
	if u.Awaits != nil {
		return c.lowerWait(p, u), nil
	}
	st.describe(p, u)
	st.role = p.roleOf(u)
	if u.Elementwise {
		if st.run = p.compileElementwise(u, c.rt); len(u.Writes) == 1 && p.Operands[u.Writes[0]].Mem.Kind == plan.Kept {
			st.run = p.keepConversion(u, c.device, st.run)
		}
		return st, nil
	}
	anchor := u.Nodes[0]
	if u.Fused != nil {
		anchor = u.Fused.Anchor
	}
	b := &build{placement: p, c: c, u: u, n: &p.Program.Nodes[anchor]}
	var err error
	special := false
	switch {
	case c.plain:
	case u.Fused != nil && checksUnreadGradient(b):
		st.run, err = buildFiniteProduct(b)
		special = true
	case b.n.Op == ir.Dot && u.Fused == nil && len(u.Nodes) > 1:
		st.run, err = buildDescent(b)
		return st, err
	case b.n.Op == ir.EmbeddingGrad && u.Fused == nil && len(u.Nodes) > 1:
		st.run, err = buildRowDescent(b)
		return st, err
	case b.n.Op == ir.Convert && u.Fused != nil:
		st.run, special = buildAllFinite(b), true
	case b.n.Op == ir.Convert: // of the gradient that an update reads
		st.run, err = buildOptimizerUpdate(b)
		return st, err
	case b.n.Op == ir.Dot:
		st.run, special = b.specialDot()
	case b.n.Op == ir.Reduce:
		st.run, special = b.summedBefore()
	case b.n.Op == ir.IsFinite:
		st.run, special = buildAllFinite(b), true
	case b.n.Op == ir.Abs && u.Fused != nil:
		st.run, special = buildRowCoding(b), true
	case b.n.Op == ir.Div && u.Fused != nil:
		st.run, special = buildExtremeGradient(b), true
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

// specialDot returns the kernel of a product that has a faster one than the general kernel.
func (b *build) specialDot() (func(), bool) {
	if run, ok := b.packedDot(); ok {
		return run, true
	}
	if run, ok := b.tallColumn(); ok && byTallColumn.Taken() {
		return run, true
	}
	run, ok := b.tallDot()
	return run, ok && byTallDot.Taken()
}

// lowerCopies adds the steps that copy values into output buffers. First they save the values in buffers that these
// copies will overwrite.
func (c *compiler) lowerCopies(p *placement, s *schedule) {
	for i := range p.Copies {
		if o := &p.Copies[i]; o.Stage != nil {
			from, to := o.From, o.Stage
			s.steps = append(s.steps, step{run: func() { copyOperand(to, &from) }, name: "copy"})
			o.From = *o.Stage
		}
	}
	for i := range p.Copies {
		from, to := p.Copies[i].From, p.Copies[i].To
		s.steps = append(s.steps, step{run: func() { copyOperand(&to, &from) }, name: "copy"})
	}
}

func copyOperand(to, from *plan.Operand) {
	if size := from.Typ.DType.Size(); from.N > 1 && from.Mem != nil && from.Mem.Bytes == size {
		fillElement(to.Ptr(), from.Ptr(), size, to.N)
		return
	}
	if to.N > 0 && to.Ptr() != from.Ptr() {
		vec.Copy(plan.Raw(to), plan.Raw(from))
	}
}
