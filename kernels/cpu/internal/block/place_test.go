package block

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/ir"
)

// TestInPlace: every kernel gives the same result if it overwrites any operand of the result's size, in blocks of any
// length.
func TestInPlace(t *testing.T) {
	numbers := []ir.DType{ir.Bool, ir.Int8, ir.Int16, ir.Int32, ir.Int64, ir.Uint8, ir.Uint16, ir.Uint32, ir.Uint64, ir.Float32, ir.Float64}
	tested := 0
	check := func(name string, f Func, result ir.DType, operands ...ir.DType) {
		if f == nil {
			return
		}
		for _, n := range []int{1, 7, 15, 16, 33, 95} {
			memory := make([][]byte, len(operands)+1) // of the operands, then of the result
			run := func(over int) []byte {
				var p [4]unsafe.Pointer
				r := rand.New(rand.NewPCG(uint64(n), 3))
				for i, d := range operands {
					memory[i] = draw(r, d, n)
					p[i+1] = unsafe.Pointer(&memory[i][0])
				}
				result := make([]byte, n*result.Size())
				if over >= 0 {
					result = memory[over]
				}
				f(unsafe.Pointer(&result[0]), p[1], p[2], p[3], n)
				return result
			}
			want := run(-1)
			for i, d := range operands {
				if d.Size() == result.Size() {
					require.Equal(t, want, run(i), "%s of %v: %d elements over operand %d", name, operands, n, i)
					tested++
				}
			}
		}
	}
	for _, d := range numbers {
		for _, op := range ir.Ops() {
			if op.IsElementwise() && !op.IsComposite() {
				for arity, f := range []func(ir.Op, ir.DType) Func{Unary, Binary} {
					if result, ok := resultOf(op, d, arity+1); ok {
						check(op.String(), f(op, d), result, []ir.DType{d, d}[:arity+1]...)
					}
				}
			}
		}
		for _, direction := range []ir.Direction{ir.Eq, ir.Ne, ir.Lt, ir.Gt, ir.Le, ir.Ge} {
			check(fmt.Sprint("compare ", direction), Compare(direction, d), ir.Bool, d, d)
		}
		check("select", Select(d.Size()), d, ir.Bool, d, d)
		for _, to := range numbers {
			check("convert to "+to.String(), Convert(d, to), to, d)
		}
	}
	for _, d := range []ir.DType{ir.Float32, ir.Float64} {
		check("relu_grad", ReluGrad(d), d, d, d)
		check("share", Share(d), d, d, d, d)
	}
	require.Greater(t, tested, 1000)
}

// resultOf returns the type of the result of an operation on that many operands; ok is false if it takes another
// number.
func resultOf(op ir.Op, d ir.DType, operands int) (result ir.DType, ok bool) {
	p := ir.New("")
	var in []ir.Value
	for range operands {
		in = append(in, p.AddInput("", ir.Type{DType: d}))
	}
	out, err := p.Add("", op, nil, in...)
	if err != nil {
		return d, false
	}
	return p.Type(out[0]).DType, true
}

// draw returns memory for n numbers whose bits no operation turns into NaN.
func draw(r *rand.Rand, d ir.DType, n int) []byte {
	memory := make([]byte, n*d.Size())
	for i := range n {
		p := unsafe.Pointer(&memory[i*d.Size()])
		switch v := 1 + r.IntN(5); {
		case d == ir.Bool:
			*(*uint8)(p) = uint8(v % 2)
		case d == ir.Float32:
			*(*float32)(p) = float32(v) / 7
		case d == ir.Float64:
			*(*float64)(p) = float64(v) / 7
		default:
			memory[i*d.Size()] = byte(v) // the lowest byte
		}
	}
	return memory
}
