package reference

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/gokeras/gokeras/kernels/ir"
)

// Interpreter runs programs. The zero value computes in float64 throughout.
type Interpreter struct {
	// Round rounds the results of every op to their element type, as on a device that stores each result in memory.
	Round bool
	// Noise, if it is not nil, moves results of arithmetic by about a unit in the last place of their type, up or down,
	// before they are rounded. Results that only move or select data are unchanged. So results differ as they may if
	// the same values are computed in another order.
	Noise *rand.Rand
	// Excess lets conversions between floats keep numbers unchanged, as on devices that compute mixed precision
	// entirely in float32. With Round, 16-bit results are then rounded to float32.
	Excess bool
}

// computed is the type that results of type d are computed in.
func (in Interpreter) computed(d ir.DType) ir.DType {
	if in.Excess && d.IsHalf() {
		return ir.Float32
	}
	return d
}

// Run runs a program without peers: collectives must be over one replica. The inputs are not changed.
func Run(p *ir.Program, inputs []Value) ([]Value, error) { return Interpreter{}.Run(p, inputs) }

// RunReplicas runs one copy of the program on each set of inputs, in lock step at collectives, and returns the outputs
// of each.
func RunReplicas(p *ir.Program, inputs [][]Value) ([][]Value, error) {
	return Interpreter{}.RunReplicas(p, inputs)
}

// Run runs a program without peers.
func (in Interpreter) Run(p *ir.Program, inputs []Value) ([]Value, error) {
	all, err := in.RunReplicas(p, [][]Value{inputs})
	if err != nil {
		return nil, err
	}
	return all[0], nil
}

// RunReplicas runs one copy of the program for each set of inputs.
func (in Interpreter) RunReplicas(p *ir.Program, inputs [][]Value) ([][]Value, error) {
	if err := p.Verify(); err != nil {
		return nil, fmt.Errorf("reference: %w", err)
	}
	for r, values := range inputs {
		if err := checkInputs(p, values); err != nil {
			return nil, fmt.Errorf("reference: replica %d: %w", r, err)
		}
	}
	return runReplicas(in, p, inputs)
}

func checkInputs(p *ir.Program, inputs []Value) error {
	if len(inputs) != len(p.Inputs) {
		return fmt.Errorf("program %q takes %d inputs, received %d", p.Name, len(p.Inputs), len(inputs))
	}
	for i, v := range inputs {
		t := p.Type(p.Inputs[i].Value)
		n := t.Shape.Size()
		floats, integers := n, 0
		if !t.DType.IsFloat() {
			floats, integers = 0, n
		}
		if !v.Type.Equal(t) || len(v.F) != floats || len(v.I) != integers {
			return fmt.Errorf("program %q: input %d %q is %v, received %v with %d floats and %d integers", p.Name, i, p.Inputs[i].Name, t, v.Type, len(v.F), len(v.I))
		}
	}
	return nil
}

// machine is one replica at work.
type machine struct {
	Interpreter
	replica int
	hub     *hub
}

// run evaluates a verified program.
func (m *machine) run(p *ir.Program, inputs []Value) ([]Value, error) {
	values := make([]Value, p.NumValues())
	for i, in := range p.Inputs {
		values[in.Value] = inputs[i]
	}
	for i := range p.Nodes {
		n := &p.Nodes[i]
		c := &call{machine: m, node: n}
		for _, v := range n.Inputs {
			c.in = append(c.in, values[v])
		}
		for _, v := range n.Outputs {
			c.out = append(c.out, zeros(p.Type(v)))
		}
		if err := c.evaluate(); err != nil {
			return nil, err
		}
		for j, v := range n.Outputs {
			values[v] = c.out[j]
		}
	}
	outputs := make([]Value, len(p.Outputs))
	for i, out := range p.Outputs {
		outputs[i] = values[out.Value].Clone()
	}
	return outputs, nil
}

// call is the evaluation of one node: its operands, and its results, which start as zeros. Evaluators fill the results
// and do not change operands.
type call struct {
	*machine
	node *ir.Node
	in   []Value
	out  []Value
}

func (c *call) evaluate() error {
	f, ok := evaluators[c.node.Op]
	if !ok {
		return fmt.Errorf("reference: op %v has no evaluator", c.node.Op)
	}
	if err := f(c); err != nil {
		return fmt.Errorf("%s: %v: %w", c.where(), c.node.Op, err)
	}
	if c.Noise != nil && !c.exact() {
		for _, v := range c.out {
			unit := math.Ldexp(1, -c.computed(v.Type.DType).Digits())
			for i, x := range v.F {
				v.F[i] = x * (1 + float64(c.Noise.IntN(3)-1)*1.5*unit)
			}
		}
	}
	if c.Round {
		for _, v := range c.out {
			for i, x := range v.F {
				v.F[i] = ir.RoundFloat(c.computed(v.Type.DType), x)
			}
		}
	}
	return nil
}

// exact reports whether the results are the same however they are computed.
func (c *call) exact() bool {
	switch a := c.node.Attrs.(type) {
	case ir.ReduceAttrs:
		return a.Kind == ir.Max || a.Kind == ir.Min
	case ir.CumulativeAttrs:
		return a.Kind == ir.Max || a.Kind == ir.Min
	}
	switch c.node.Op {
	case ir.Neg, ir.Abs, ir.Sign, ir.Floor, ir.Ceil, ir.Round, ir.Relu, ir.Maximum, ir.Minimum, ir.Rem, ir.Select, ir.Identity, ir.Convert, ir.Embedding, ir.MaxPool:
		return true
	}
	return c.node.Op.Traits().Moves
}

func (c *call) where() string {
	if c.node.Scope == "" {
		return "reference"
	}
	return c.node.Scope
}

// evaluators has an entry for each op.
var evaluators map[ir.Op]func(c *call) error

func init() {
	evaluators = map[ir.Op]func(c *call) error{
		ir.Constant: (*call).constant,
		ir.Iota:     (*call).iota,
		ir.RngBits:  (*call).rngBits,

		ir.IsFinite: (*call).isFinite,
		ir.Identity: (*call).reshape,
		ir.Convert:  (*call).convert,
		ir.Compare:  (*call).compare,
		ir.Select:   (*call).choose,

		ir.Reshape:            (*call).reshape,
		ir.Transpose:          (*call).transpose,
		ir.Broadcast:          (*call).broadcast,
		ir.Slice:              (*call).slice,
		ir.Pad:                (*call).pad,
		ir.Concat:             (*call).concat,
		ir.Reverse:            (*call).reverse,
		ir.BitCast:            (*call).bitCast,
		ir.DynamicSlice:       (*call).dynamicSlice,
		ir.DynamicUpdateSlice: (*call).dynamicUpdateSlice,

		ir.Dot:         (*call).dot,
		ir.Gather:      (*call).gather,
		ir.Scatter:     (*call).scatter,
		ir.Reduce:      (*call).reduce,
		ir.ArgMax:      (*call).argMax,
		ir.ArgMin:      (*call).argMin,
		ir.Cumulative:  (*call).cumulative,
		ir.Sort:        (*call).sort,
		ir.CheckFinite: (*call).checkFinite,
		ir.TopK:        (*call).topK,

		ir.Scan:  (*call).scan,
		ir.While: (*call).while,
		ir.Cond:  (*call).cond,

		ir.Conv:                          (*call).conv,
		ir.ConvInputGrad:                 (*call).convInputGrad,
		ir.ConvKernelGrad:                (*call).convKernelGrad,
		ir.MaxPool:                       (*call).maxPool,
		ir.MaxPoolGrad:                   (*call).maxPoolGrad,
		ir.AvgPool:                       (*call).avgPool,
		ir.AvgPoolGrad:                   (*call).avgPoolGrad,
		ir.Resample:                      (*call).resample,
		ir.Eliminate:                     (*call).eliminate,
		ir.Factor:                        (*call).factor,
		ir.Fourier:                       (*call).fourier,
		ir.RealFourier:                   (*call).realFourier,
		ir.HermitianFourier:              (*call).hermitianFourier,
		ir.BatchNorm:                     (*call).batchNorm,
		ir.BatchNormGrad:                 (*call).batchNormGrad,
		ir.LayerNorm:                     (*call).layerNorm,
		ir.LayerNormGrad:                 (*call).layerNormGrad,
		ir.GroupNorm:                     (*call).groupNorm,
		ir.GroupNormGrad:                 (*call).groupNormGrad,
		ir.LstmCell:                      (*call).lstmCell,
		ir.LstmCellGrad:                  (*call).lstmCellGrad,
		ir.GruCell:                       (*call).gruCell,
		ir.GruCellGrad:                   (*call).gruCellGrad,
		ir.Softmax:                       (*call).softmax,
		ir.SoftmaxGrad:                   (*call).softmaxGrad,
		ir.LogSoftmax:                    (*call).logSoftmax,
		ir.LogSoftmaxGrad:                (*call).logSoftmaxGrad,
		ir.SparseSoftmaxCrossEntropy:     (*call).crossEntropy,
		ir.SparseSoftmaxCrossEntropyGrad: (*call).crossEntropyGrad,
		ir.Dropout:                       (*call).dropout,
		ir.PackedDot:                     (*call).packedDot,
		ir.Barrier:                       (*call).reshape,
		ir.Attention:                     (*call).attention,
		ir.AttentionGrad:                 (*call).attentionGrad,
		ir.Embedding:                     (*call).embedding,
		ir.PackedEmbedding:               (*call).packedEmbedding,
		ir.EmbeddingGrad:                 (*call).embeddingGrad,
		ir.RnnScan:                       (*call).rnnScan,
		ir.OptimizerUpdate:               (*call).optimizerUpdate,

		ir.AllReduce:           (*call).allReduce,
		ir.AllGather:           (*call).allGather,
		ir.ReduceScatter:       (*call).reduceScatter,
		ir.CollectiveBroadcast: (*call).collectiveBroadcast,
		ir.ReplicaID:           (*call).replicaID,
	}
	for op := range floatUnary {
		evaluators[op] = (*call).unary
	}
	for op := range integerUnary {
		evaluators[op] = (*call).unary
	}
	for op := range floatBinary {
		evaluators[op] = (*call).binary
	}
	for op := range integerBinary {
		evaluators[op] = (*call).binary
	}
}
