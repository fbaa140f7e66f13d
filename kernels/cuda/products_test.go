//go:build linux

package cuda

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/cuda/internal/driver"
	"github.com/gokeras/gokeras/kernels/cuda/internal/fakedriver"
	"github.com/gokeras/gokeras/kernels/cuda/internal/libraries"
	"github.com/gokeras/gokeras/kernels/cuda/internal/lower"
	"github.com/gokeras/gokeras/kernels/cuda/internal/ptxsim"
	"github.com/gokeras/gokeras/kernels/ir"
)

// withBLAS is a backend with a cuBLASLt that is measured to be fast, or slow, and the warnings of the test.
func withBLAS(t *testing.T, folder, fast string) (*backend, *fakedriver.Fake, fakeBLAS, *[]string) {
	b, f, _ := measured(t, folder, fakedriver.Options{}, fast)
	l := fakeBLAS{newFakeLibrary(f)}
	b.findBLAS = func(int) libraries.Found {
		return libraries.Found{Name: "cuBLASLt", Path: "libcublasLt.so.12", Version: "12.4.5"}
	}
	b.openBLAS = l.Open
	warnings, before := &[]string{}, warn
	warn = func(text string) { *warnings = append(*warnings, text) }
	t.Cleanup(func() { warn = before })
	return b, f, l, warnings
}

// multiplied compiles a program, and reports whether the library makes its product.
func multiplied(t *testing.T, b *backend, p *ir.Program) bool {
	e, err := b.Compile(p, kernels.CompileOptions{Device: kernels.Device{Kind: Kind}})
	require.NoError(t, err)
	defer e.Close()
	return e.(*executable).plan.Products > 0
}

// cuBLASLt makes products of matrices where it is measured to be faster; that is found out once, for each of its
// versions, and remembered.
func TestLibraryIsMeasured(t *testing.T) {
	folder := t.TempDir()
	p := product(t, ir.BFloat16, 64, 72, 64, false, true, false)
	b, _, l, warnings := withBLAS(t, folder, "cuBLASLt")
	assert.True(t, multiplied(t, b, p))
	n := l.Calls("cublasLtMatmul")
	assert.Positive(t, n)
	assert.True(t, multiplied(t, b, p))
	assert.Equal(t, n, l.Calls("cublasLtMatmul"), "it is known now")

	again, _, l, _ := withBLAS(t, folder, "never")
	assert.True(t, multiplied(t, again, p), "another process")
	assert.Zero(t, l.Calls("cublasLtCreate"))
	other, _, _, _ := withBLAS(t, folder, "x") // neither is faster
	other.findBLAS = func(int) libraries.Found {
		return libraries.Found{Name: "cuBLASLt", Path: "libcublasLt.so.13", Version: "13.1.0"}
	}
	assert.False(t, multiplied(t, other, p), "another version")
	assert.Empty(t, *warnings)
}

// The library is not asked where it is missing or does not fit, where its results differ, for replicas, for what is not
// a product of matrices, and where nothing is measured.
func TestLibraryIsNotUsed(t *testing.T) {
	p := product(t, ir.BFloat16, 64, 72, 64, false, true, false)
	for name, change := range map[string]func(t *testing.T, b *backend, l fakeBLAS){
		"missing": func(_ *testing.T, b *backend, _ fakeBLAS) {
			b.findBLAS = func(int) libraries.Found { return libraries.Found{} }
		},
		"too old": func(_ *testing.T, b *backend, _ fakeBLAS) {
			b.findBLAS = func(int) libraries.Found { return libraries.Found{Path: "x", Problem: "it is old"} }
		},
		"wrong":     func(_ *testing.T, _ *backend, l fakeBLAS) { l.wrong = true },
		"off":       func(t *testing.T, _ *backend, _ fakeBLAS) { t.Setenv(tuningVariable, "off") },
		"small":     func(_ *testing.T, b *backend, _ fakeBLAS) { b.tuning.least = 1 << 32 },
		"time":      func(_ *testing.T, b *backend, _ fakeBLAS) { b.tuning.left = 0 },
		"heuristic": func(_ *testing.T, _ *backend, l fakeBLAS) { l.Fail("cublasLtMatmulAlgoGetHeuristic", 1) },
	} {
		t.Run(name, func(t *testing.T) {
			b, _, l, warnings := withBLAS(t, t.TempDir(), "cuBLASLt")
			b.pick = func(q lower.Question) int { return q.Usual }
			change(t, b, l)
			assert.False(t, multiplied(t, b, p))
			assert.LessOrEqual(t, len(*warnings), 1)
		})
	}
	b, _, l, _ := withBLAS(t, t.TempDir(), "cuBLASLt")
	b.pick = func(q lower.Question) int { return q.Usual } // only libraries are measured
	assert.False(t, multiplied(t, b, wideConvolution(t, rand.New(rand.NewPCG(1, 1)), ir.BFloat16, ir.Conv)))
	assert.False(t, multiplied(t, b, product(t, ir.Float64, 64, 72, 64, false, true, false)))
	assert.Zero(t, l.Calls("cublasLtCreate"))
	assert.True(t, multiplied(t, b, product(t, ir.Float32, 64, 72, 64, false, true, false)), "strict")
	assert.Positive(t, l.Calls("cublasLtCreate"))
}

// Products by the library agree with the reference, in every layout, in batches, with chains and sums of operands after
// them, in steps that are captured, and leave nothing behind.
func TestLibraryProducts(t *testing.T) {
	rounds := 24
	if brief() {
		rounds = 8
	}
	used := 0
	for i := range rounds {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(uint64(i), 37))
			d, units := []ir.DType{ir.BFloat16, ir.Float16, ir.Float32}[i%3], 4.0
			if d == ir.Float32 {
				kernels.AllowTF32(i%2 == 0)
				defer kernels.AllowTF32(false)
				units = 64
			}
			f := fakedriver.New(fakedriver.Options{Order: ptxsim.Shuffled, Capability: 90})
			b := newBackend(Kind, func() (driver.API, error) { return f, nil })
			l := fakeBLAS{newFakeLibrary(f)}
			b.findBLAS, b.openBLAS = func(int) libraries.Found { return libraries.Found{Path: "libcublasLt.so.12"} }, l.Open
			b.pickLibrary = func(lower.Question) string { return lower.BLAS }
			p := randomProduct(t, rng, d)
			withSums(t, rng, p)
			agrees(t, b, p, rng, units)
			used += l.Calls("cublasLtMatmul")
			require.NoError(t, f.Fault())
			require.NoError(t, b.close())
			assert.Empty(t, f.Alive())
			assert.Zero(t, l.Alive())
		})
	}
	assert.Greater(t, used, rounds/2)
}

// Every call of the library that fails leaves a device that goes on with its own kernels, and says so once; a capture
// that it spoils is made again.
func TestLibraryFails(t *testing.T) {
	p := product(t, ir.BFloat16, 64, 72, 64, false, true, true)
	for call, times := range map[string]int{"cublasLtCreate": 1, "cublasLtMatmulAlgoGetHeuristic": 1, "cublasLtMatmul": 3} {
		for n := 1; n <= times; n++ {
			for _, spoils := range []bool{false, true} {
				if spoils && n < 3 {
					continue
				}
				t.Run(fmt.Sprint(call, " ", n, " ", spoils), func(t *testing.T) {
					b, f, l, warnings := withBLAS(t, t.TempDir(), "")
					b.pickLibrary = func(lower.Question) string { return lower.BLAS }
					l.spoils = spoils
					l.Fail(call, n)
					run := repeating(t, b, p)
					want := run()
					for range 4 {
						assert.Equal(t, want, run())
					}
					require.Len(t, *warnings, 1)
					assert.Contains(t, (*warnings)[0], "cuda: cuda:0 goes on without cuBLASLt: ")
					assert.Contains(t, (*warnings)[0], call)
					assert.True(t, call == "cublasLtCreate" || strings.Contains((*warnings)[0], "layer layer"))
					assert.Positive(t, f.Calls()["cuGraphLaunch"])
				})
			}
		}
	}
}

// repeating returns what runs a program with the same buffers, and returns its first result.
func repeating(t *testing.T, b *backend, p *ir.Program) func() []byte {
	d := kernels.Device{Kind: Kind}
	var in, out []kernels.Buffer
	buffer := func(typ ir.Type, seed int) kernels.Buffer {
		x, err := b.NewBuffer(d, typ)
		require.NoError(t, err)
		t.Cleanup(x.Free)
		require.NoError(t, x.Write(wholeNumbers(typ, seed)))
		return x
	}
	for i, v := range p.Inputs {
		in = append(in, buffer(p.Type(v.Value), i))
	}
	for _, o := range p.Outputs {
		out = append(out, buffer(p.Type(o.Value), 9))
	}
	e, err := b.Compile(p, kernels.CompileOptions{Device: d})
	require.NoError(t, err)
	t.Cleanup(e.Close)
	s, err := e.NewSession(kernels.SessionOptions{Device: d})
	require.NoError(t, err)
	t.Cleanup(s.Close)
	return func() []byte {
		require.NoError(t, s.Launch(t.Context(), kernels.Launch{Inputs: in, Outputs: out}).Wait(t.Context()))
		data := make([]byte, p.Type(p.Outputs[0].Value).Bytes())
		require.NoError(t, out[0].Read(data))
		return data
	}
}
