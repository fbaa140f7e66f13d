package cpu_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/cpu/internal/isa"
	"github.com/gokeras/gokeras/kernels/ir"
)

// exactFloats are the operations on floats whose results all families round once, or not at all.
var exactFloats = map[ir.Op]bool{ir.Add: true, ir.Sub: true, ir.Mul: true, ir.Div: true, ir.Maximum: true, ir.Minimum: true, ir.Neg: true, ir.Abs: true,
	ir.Relu: true, ir.Sqrt: true, ir.Floor: true, ir.Ceil: true, ir.Round: true, ir.Sign: true, ir.IsFinite: true, ir.Compare: true, ir.Select: true,
	ir.Convert: true, ir.Identity: true, ir.Rem: true}

// exact reports whether all families of kernels compute the same bits.
func (c *elementwiseCase) exact() bool {
	for _, in := range c.program.Inputs {
		if c.program.Type(in.Value).DType.IsFloat() && !exactFloats[c.op] {
			return false
		}
	}
	return true
}

// drawBits draws any kind of bits for elements of a type: arbitrary ones, few ones, many ones, and special floats.
// Floats that are flushed to zero are left out, because their results depend on whether an operation does arithmetic.
func drawBits(r *rand.Rand, d ir.DType, last uint64) uint64 {
	size := 8 * d.Size()
	v := r.Uint64() >> (64 - size)
	switch {
	case d == ir.Bool:
		return v & 1
	case d.IsFloat() && r.IntN(3) == 0:
		return binary.LittleEndian.Uint64(append(ir.AppendElement(nil, d, drawElement(r, d)), make([]byte, 8)...))
	case d.IsFloat():
		if r.IntN(2) == 0 { // near the middle between two numbers of fewer bits
			if kept := d.Digits() - 2 - r.IntN(d.Digits()-2); kept > 0 {
				v = v>>kept<<kept | 1<<(kept-1)
				v += uint64(r.IntN(3)) - 1
			}
		}
		for {
			b := binary.LittleEndian.AppendUint64(nil, v)
			if f := ir.Element(b, d, 0); f == 0 || f != f || math.Abs(f) >= d.LeastNormal() {
				return v
			}
			v = r.Uint64() >> (64 - size)
		}
	}
	switch r.IntN(7) {
	case 6:
		few := r.IntN(size)
		kept := r.IntN(size - few)
		v = (v>>few>>kept<<kept | 1<<kept>>1) + uint64(r.IntN(3)) - 1
	case 0:
		v >>= r.IntN(size)
	case 1:
		v = -(v >> r.IntN(size))
	case 2: // of which the other is about a multiple
		v = last*(v>>r.IntN(size)) + uint64(r.IntN(3)) - 1
	case 3:
		v = 1<<r.IntN(size) + uint64(r.IntN(3)) - 1
	}
	return v & (1<<(size-1)<<1 - 1)
}

// TestElementwiseBits: for any bits, operations that round at most once give the same bits with every family of
// kernels, alone and among others in a unit, and for vectors of any length.
func TestElementwiseBits(t *testing.T) {
	rounds := 1
	if !testing.Short() {
		rounds = 4
	}
	for _, joined := range []bool{false, true} {
		r := rand.New(rand.NewPCG(17, *elementwiseSeed))
		for _, c := range elementwiseCases(joined, func(ir.DType) int { return 32 + r.IntN(700) }) {
			if !c.exact() {
				continue
			}
			for range rounds {
				c.sameBits(t, r)
			}
		}
	}
}

// sameBits compares the families with plain Go.
func (c *elementwiseCase) sameBits(t *testing.T, r *rand.Rand) {
	t.Helper()
	inputs := make([][]byte, len(c.program.Inputs))
	for k := range inputs { // the last one first: a divisor
		i := len(inputs) - 1 - k
		typ := c.program.Type(c.program.Inputs[i].Value)
		size := typ.DType.Size()
		for e := range typ.Shape.Size() {
			var last [8]byte
			if k > 0 && len(inputs[i+1]) == typ.Bytes() {
				copy(last[:], inputs[i+1][e*size:][:size])
			}
			var b [8]byte
			binary.LittleEndian.PutUint64(b[:], drawBits(r, typ.DType, binary.LittleEndian.Uint64(last[:])))
			inputs[i] = append(inputs[i], b[:size]...)
		}
	}
	var want []byte
	out := c.program.Type(c.program.Outputs[0].Value).DType
	for _, path := range isa.Paths() {
		restore := isa.Override(path)
		s := newSession(t, c.program)
		for i, in := range inputs {
			copy(s.inputs[i].Bytes(), in)
		}
		s.run(t)
		got := append([]byte(nil), s.outputs[0].Bytes()...)
		s.e.Close()
		restore()
		if want == nil {
			want = got
			continue
		}
		for e := range len(got) / out.Size() {
			a, b := want[e*out.Size():][:out.Size()], got[e*out.Size():][:out.Size()]
			if string(a) == string(b) || out.IsFloat() && sameNumber(out, a, b) {
				continue
			}
			operands := ""
			for i, in := range inputs {
				d := c.program.Type(c.program.Inputs[i].Value).DType
				operands += " " + d.String() + " " + fmt.Sprintf("%x", in[e*d.Size():][:d.Size()])
			}
			require.Failf(t, "other bits", "%s, %v, element %d of%s: %x, in Go %x", c.name, path, e, operands, b, a)
		}
	}
}

// sameNumber reports whether two floats are equal. NaN equals NaN, and zeros may differ in sign where an operation on
// several numbers may choose it.
func sameNumber(d ir.DType, a, b []byte) bool {
	x, y := ir.Element(a, d, 0), ir.Element(b, d, 0)
	return x != x && y != y || x == 0 && y == 0
}
