package cublas

import (
	"fmt"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"unsafe"

	"github.com/ebitengine/purego"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/ir"
)

var dtypes = map[Type]ir.DType{Float32: ir.Float32, Float16: ir.Float16, BFloat16: ir.BFloat16}

// fake builds the library in testdata. It returns its path, a function that makes a call fail, and one that counts live
// objects.
func fake(t *testing.T) (path string, fail func(name string, n int), alive func() int) {
	compiler, err := exec.LookPath("gcc")
	if err != nil {
		t.Skip("there is no gcc to build the library of testdata")
	}
	path = filepath.Join(t.TempDir(), "libcublasLt.so.12")
	out, err := exec.Command(compiler, "-O1", "-shared", "-fPIC", "-o", path, "testdata/libcublasLt.c").CombinedOutput()
	require.NoError(t, err, "%s", out)
	handle, err := purego.Dlopen(path, purego.RTLD_NOW|purego.RTLD_LOCAL)
	require.NoError(t, err)
	var setFail func(*byte, int32)
	var count func() int32
	purego.RegisterLibFunc(&setFail, handle, "fake_fail")
	purego.RegisterLibFunc(&count, handle, "fake_alive")
	kept := map[string][]byte{}
	return path, func(name string, n int) {
		kept[name] = append([]byte(name), 0)
		setFail(&kept[name][0], int32(n))
	}, func() int { return int(count()) }
}

// run multiplies random integers and compares the results with sums computed in Go.
func run(t *testing.T, l API, p Problem) error {
	rng := rand.New(rand.NewPCG(1, 2))
	matrix := func(elements int64, d ir.DType) []byte {
		var data []byte
		for range elements {
			data = ir.AppendElement(data, d, float64(rng.IntN(5)-2))
		}
		return data
	}
	in, out := dtypes[p.In], dtypes[p.Out]
	a, b := matrix(p.A.Batch*p.Batch, in), matrix(p.B.Batch*p.Batch, in)
	c := matrix(p.M*p.N*p.Batch, out)
	q, err := l.Prepare(p)
	if err != nil {
		return err
	}
	defer q.Close()
	at := func(x []byte) uint64 { return uint64(uintptr(unsafe.Pointer(&x[0]))) }
	if err := q.Run(at(a), at(b), at(c), 77, 99); err != nil {
		return err
	}
	place := func(o Operand, row, column int64) int {
		if o.Turned {
			row, column = column, row
		}
		return int(row*o.Stride + column)
	}
	for batch := range p.Batch {
		for m := range p.M {
			for n := range p.N {
				sum := 0.0
				for k := range p.K {
					sum += ir.Element(a, in, int(batch*p.A.Batch)+place(p.A, m, k)) * ir.Element(b, in, int(batch*p.B.Batch)+place(p.B, k, n))
				}
				require.Equal(t, sum, ir.Element(c, out, int((batch*p.M+m)*p.N+n)), "%d %d of %d", m, n, batch)
			}
		}
	}
	return nil
}

// problem returns a problem whose operands have strides a few elements longer than necessary.
func problem(m, n, k, batch int64, turnA, turnB bool) Problem {
	operand := func(turned bool, lines, length int64) Operand {
		if turned {
			lines, length = length, lines
		}
		return Operand{Turned: turned, Stride: length + 3, Batch: (length + 3) * lines}
	}
	return Problem{M: m, N: n, K: k, Batch: batch, In: BFloat16, Out: BFloat16, A: operand(turnA, m, k), B: operand(turnB, k, n)}
}

// Products of every layout and type, single and batched.
func TestProducts(t *testing.T) {
	path, _, alive := fake(t)
	l, err := Open(path)
	require.NoError(t, err)
	for turns := range 4 {
		for i, types := range [][2]Type{{BFloat16, BFloat16}, {Float16, Float16}, {BFloat16, Float32}, {Float32, Float32}} {
			p := problem(6, 9, 4, int64(1+turns%2*2), turns&1 != 0, turns&2 != 0)
			p.In, p.Out, p.TF32 = types[0], types[1], i == 3
			require.NoError(t, run(t, l, p), "%+v", p)
		}
	}
	for _, n := range []int64{11, 13} {
		assert.ErrorContains(t, run(t, l, problem(6, n, 4, 1, false, false)), "cublasLtMatmulAlgoGetHeuristic: not supported (15)")
	}
	assert.Equal(t, 1, alive())
	require.NoError(t, l.Close())
	assert.Zero(t, alive())
}

// Every failing call gives an error that names it, and leaks nothing.
func TestFailures(t *testing.T) {
	path, fail, alive := fake(t)
	failed := 0
	for _, name := range names {
		for n := 1; n <= 6; n++ {
			before := alive()
			fail(name, n)
			l, err := Open(path)
			if err == nil {
				err = run(t, l, problem(6, 9, 4, 2, true, true))
				if strings.HasSuffix(name, "Destroy") {
					require.NoError(t, err, name)
					fail("", 0)
				}
				if closing := l.Close(); err == nil {
					err = closing
				}
			}
			fail("", 0)
			if err != nil {
				failed++
				assert.ErrorContains(t, err, fmt.Sprintf("%s: an internal error (14)", name))
			}
			if !strings.HasSuffix(name, "Destroy") {
				require.Equal(t, before, alive(), "%s %d", name, n)
			}
		}
	}
	assert.Equal(t, 18, failed)
	_, err := Open(path + ".none")
	assert.ErrorContains(t, err, "cublas: ")
}
