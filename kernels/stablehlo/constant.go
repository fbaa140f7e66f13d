package stablehlo

import (
	"encoding/binary"
	"encoding/hex"
	"strings"

	"github.com/gokeras/gokeras/kernels/ir"
)

func init() {
	lowerings[ir.Constant] = func(e *emitter, n *ir.Node, _ []value) []value {
		return []value{e.literal(n.Attrs.(ir.ConstantAttrs).Literal)}
	}
	lowerings[ir.Iota] = func(e *emitter, n *ir.Node, _ []value) []value {
		a := n.Attrs.(ir.IotaAttrs)
		return []value{e.iota(a.Type, a.Axis)}
	}
}

// literal writes a constant. Numbers are written as the hexadecimal digits of their bytes, which preserves every bit.
func (e *emitter) literal(l ir.Literal) value {
	switch {
	case l.Type.Shape.Size() == 0:
		return e.definef(l.Type, "stablehlo.constant dense<> : %s", tensor(l.Type))
	case l.Type.DType == ir.Bool:
		return e.bools(l)
	}
	return e.definef(l.Type, "stablehlo.constant dense<\"0x%s\"> : %s", strings.ToUpper(hex.EncodeToString(l.Data)), tensor(l.Type))
}

// bools writes truth values by name. Given as bytes, MLIR would pack eight of them into one.
func (e *emitter) bools(l ir.Literal) value {
	word := func(b byte) string {
		if b != 0 {
			return "true"
		}
		return "false"
	}
	if l.Splat || l.Type.Shape.Size() == 1 {
		return e.definef(l.Type, "stablehlo.constant dense<%s> : %s", word(l.Data[0]), tensor(l.Type))
	}
	words := make([]string, len(l.Data))
	for i, b := range l.Data {
		words[i] = word(b)
	}
	flat := ir.Type{DType: ir.Bool, Shape: ir.Shape{len(words)}}
	return e.reshape(e.definef(flat, "stablehlo.constant dense<[%s]> : %s", strings.Join(words, ", "), tensor(flat)), l.Type.Shape...)
}

// splat is a constant with the same number everywhere.
func (e *emitter) splat(t ir.Type, x float64) value {
	return e.literal(ir.Scalar(t.DType, x, t.Shape...))
}

// like is a constant of the type of v.
func (e *emitter) like(v value, x float64) value { return e.splat(v.typ, x) }

// integers is a vector of small integers.
func (e *emitter) integers(dtype ir.DType, numbers ...int) value {
	elements := make([]float64, len(numbers))
	for i, n := range numbers {
		elements[i] = float64(n)
	}
	return e.floats(dtype, ir.Shape{len(numbers)}, elements)
}

func (e *emitter) floats(dtype ir.DType, shape ir.Shape, elements []float64) value {
	l, err := ir.Floats(dtype, shape, elements)
	if err != nil {
		e.failf("%v", err)
	}
	return e.literal(l)
}

func (e *emitter) iota(t ir.Type, axis int) value {
	return e.definef(t, "stablehlo.iota dim = %d : %s", axis, tensor(t))
}

// long is a constant of int64 with the same number everywhere.
func (e *emitter) long(t ir.Type, x int64) value {
	return e.literal(ir.Literal{Type: t, Data: binary.LittleEndian.AppendUint64(nil, uint64(x)), Splat: true})
}
