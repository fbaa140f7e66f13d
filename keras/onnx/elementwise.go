package onnx

import (
	"sync"

	"github.com/gokeras/gokeras/kernels/ir"
)

var made struct {
	once sync.Once
	all  map[ir.Op]func(b *builder, n *ir.Node) error
}

// operations returns the functions that write one node each. The map is created at the first export, so programs that
// never export do not link the functions.
func operations() map[ir.Op]func(b *builder, n *ir.Node) error {
	made.once.Do(func() { made.all = writers() })
	return made.all
}

func writers() map[ir.Op]func(b *builder, n *ir.Node) error {
	operations := map[ir.Op]func(b *builder, n *ir.Node) error{
		ir.Constant: writeConstant, ir.Iota: writeIota,
		ir.Reshape: writeReshape, ir.Transpose: writeTranspose, ir.Broadcast: writeBroadcast, ir.Slice: writeSlice, ir.Pad: writePad,
		ir.Concat: writeConcat, ir.Reverse: writeReverse, ir.DynamicSlice: writeDynamicSlice, ir.DynamicUpdateSlice: writeDynamicUpdateSlice,
		ir.Dot: writeDot, ir.Gather: writeGather, ir.Scatter: writeScatter, ir.Reduce: writeReduce, ir.ArgMax: writeArg, ir.ArgMin: writeArg,
		ir.Cumulative: writeCumulative, ir.Sort: writeSort, ir.TopK: writeTopK,
		ir.Scan: writeScan, ir.While: writeWhile, ir.Cond: writeCond,
		ir.Conv: writeConv, ir.ConvInputGrad: writeConvTranspose, ir.MaxPool: writePool, ir.AvgPool: writePool,
		ir.LayerNorm: writeLayerNorm, ir.Softmax: writeSoftmax, ir.LogSoftmax: writeSoftmax, ir.Embedding: writeEmbedding,
		ir.Identity: writeIdentity, ir.CheckFinite: writeIdentity,
	}
	for op, name := range map[ir.Op]string{
		ir.Neg: "Neg", ir.Abs: "Abs", ir.Sign: "Sign", ir.Floor: "Floor", ir.Ceil: "Ceil", ir.Round: "Round", ir.Exp: "Exp", ir.Log: "Log",
		ir.Sqrt: "Sqrt", ir.Sin: "Sin", ir.Cos: "Cos", ir.Tan: "Tan", ir.Asin: "Asin", ir.Acos: "Acos", ir.Atan: "Atan", ir.Sinh: "Sinh",
		ir.Cosh: "Cosh", ir.Asinh: "Asinh", ir.Acosh: "Acosh", ir.Atanh: "Atanh", ir.Tanh: "Tanh", ir.Sigmoid: "Sigmoid", ir.Erf: "Erf",
		ir.Relu: "Relu", ir.Add: "Add", ir.Sub: "Sub", ir.Mul: "Mul", ir.Div: "Div", ir.Pow: "Pow", ir.Maximum: "Max", ir.Minimum: "Min",
	} {
		operations[op] = elementwise(func(b *builder, _ *ir.Node, in []string) (string, error) { return b.add(name, in), nil })
	}
	for op, write := range map[ir.Op]func(b *builder, n *ir.Node, in []string) (string, error){
		ir.Exp2: writeExp2, ir.Expm1: writeExpm1, ir.Log1p: writeLog1p, ir.Rsqrt: writeRsqrt, ir.IsFinite: writeIsFinite, ir.Not: writeNot, ir.Convert: writeConvert,
		ir.Rem: writeRem, ir.BitAnd: writeBits, ir.BitOr: writeBits, ir.BitXor: writeBits, ir.ShiftLeft: writeShift, ir.ShiftRight: writeShift,
		ir.Compare: writeCompare, ir.Select: writeSelect, ir.Atan2: writeAtan2,
	} {
		operations[op] = elementwise(write)
	}
	return operations
}

// elementwise passes loose operands on unchanged. If all operands are loose, so is the result.
func elementwise(write func(b *builder, n *ir.Node, in []string) (string, error)) func(b *builder, n *ir.Node) error {
	return func(b *builder, n *ir.Node) error {
		in := make([]string, len(n.Inputs))
		result := operand{loose: true}
		for i, v := range n.Inputs {
			o, ok := b.operands[v]
			if !ok {
				_, err := b.full(v)
				return err
			}
			in[i] = o.name
			result.loose = result.loose && o.loose
			result.rank = max(result.rank, o.rank)
		}
		var err error
		if result.name, err = write(b, n, in); err != nil {
			return err
		}
		b.operands[n.Outputs[0]] = result
		return nil
	}
}

func writeExp2(b *builder, n *ir.Node, in []string) (string, error) {
	return b.add("Pow", list(b.scalar(b.dtype(n.Inputs[0]), 2), in[0])), nil
}

func writeExpm1(b *builder, n *ir.Node, in []string) (string, error) {
	return b.add("Sub", list(b.add("Exp", in), b.scalar(b.dtype(n.Inputs[0]), 1))), nil
}

func writeLog1p(b *builder, n *ir.Node, in []string) (string, error) {
	return b.add("Log", list(b.add("Add", list(in[0], b.scalar(b.dtype(n.Inputs[0]), 1))))), nil
}

func writeRsqrt(b *builder, _ *ir.Node, in []string) (string, error) {
	return b.add("Reciprocal", list(b.add("Sqrt", in))), nil
}

func writeIsFinite(b *builder, _ *ir.Node, in []string) (string, error) {
	return b.add("Not", list(b.add("Or", list(b.add("IsInf", in), b.add("IsNaN", in))))), nil
}

func writeNot(b *builder, n *ir.Node, in []string) (string, error) {
	if b.dtype(n.Inputs[0]) == ir.Bool {
		return b.add("Not", in), nil
	}
	return b.add("BitwiseNot", in), nil
}

func (b *builder) cast(name string, to ir.DType) string {
	return b.add("Cast", list(name), attribute{"to", int(elementTypes[to])})
}

func writeConvert(b *builder, n *ir.Node, in []string) (string, error) {
	return b.cast(in[0], b.dtype(n.Outputs[0])), nil
}

func writeRem(b *builder, _ *ir.Node, in []string) (string, error) {
	return b.add("Mod", in, attribute{"fmod", 1}), nil
}

func writeBits(b *builder, n *ir.Node, in []string) (string, error) {
	name := map[ir.Op]string{ir.BitAnd: "And", ir.BitOr: "Or", ir.BitXor: "Xor"}[n.Op]
	if b.dtype(n.Inputs[0]) != ir.Bool {
		name = "Bitwise" + name
	}
	return b.add(name, in), nil
}

func writeShift(b *builder, n *ir.Node, in []string) (string, error) {
	if d := b.dtype(n.Inputs[0]); d.IsSigned() {
		return "", b.errorf("ONNX shifts unsigned integers only, received %v", d)
	}
	direction := "LEFT"
	if n.Op == ir.ShiftRight {
		direction = "RIGHT"
	}
	return b.add("BitShift", in, attribute{"direction", direction}), nil
}

func writeCompare(b *builder, n *ir.Node, in []string) (string, error) {
	direction := n.Attrs.(ir.CompareAttrs).Direction
	if direction == ir.Ne {
		return b.add("Not", list(b.add("Equal", in))), nil
	}
	return b.add(map[ir.Direction]string{ir.Eq: "Equal", ir.Lt: "Less", ir.Le: "LessOrEqual", ir.Gt: "Greater", ir.Ge: "GreaterOrEqual"}[direction], in), nil
}

// writeSelect writes a choice. Runtimes do not implement Where for booleans.
func writeSelect(b *builder, n *ir.Node, in []string) (string, error) {
	if b.dtype(n.Outputs[0]) == ir.Bool {
		yes := b.add("And", list(in[0], in[1]))
		return b.add("Or", list(yes, b.add("And", list(b.add("Not", in[:1]), in[2])))), nil
	}
	return b.add("Where", in), nil
}

// writeAtan2 writes atan(y/x), plus or minus half a turn where x is negative. y/0 gives a quarter turn by itself.
func writeAtan2(b *builder, n *ir.Node, in []string) (string, error) {
	d := b.dtype(n.Outputs[0])
	y, x := in[0], in[1]
	const pi = 3.14159265358979323846
	angle := b.add("Atan", list(b.add("Div", in)))
	half := b.add("Where", list(b.add("Less", list(y, b.scalar(d, 0))), b.scalar(d, -pi), b.scalar(d, pi)))
	turned := b.add("Where", list(b.add("Less", list(x, b.scalar(d, 0))), b.add("Add", list(angle, half)), angle))
	origin := b.add("And", list(b.add("Equal", list(x, b.scalar(d, 0))), b.add("Equal", list(y, b.scalar(d, 0)))))
	return b.add("Where", list(origin, b.scalar(d, 0), turned)), nil
}

// writeIdentity writes nothing.
func writeIdentity(b *builder, n *ir.Node) error {
	o, ok := b.operands[n.Inputs[0]]
	if !ok {
		_, err := b.full(n.Inputs[0])
		return err
	}
	b.operands[n.Outputs[0]] = o
	return nil
}

// writeConstant writes a constant. If all its elements are equal, it becomes a loose scalar.
func writeConstant(b *builder, n *ir.Node) error {
	l := n.Attrs.(ir.ConstantAttrs).Literal
	v := n.Outputs[0]
	if l.Splat || l.Type.Shape.Size() == 1 {
		if l.Type.Shape.Rank() == 0 {
			b.set(v, b.constant(l.Type.DType, nil, l.Data))
			return nil
		}
		b.operands[v] = operand{name: b.constant(l.Type.DType, nil, l.Data), loose: true}
		return nil
	}
	b.set(v, b.constant(l.Type.DType, l.Type.Shape, l.Data))
	return nil
}
