//go:build linux

package cuda

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

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

// withDNN is a backend with a cuDNN that is measured to be fast, or slow, and the warnings of the test.
func withDNN(t *testing.T, folder, fast string) (*backend, *fakedriver.Fake, fakeDNN, *[]string) {
	b, f, _, warnings := withBLAS(t, folder, fast)
	b.findBLAS = nil
	return b, f, findsDNN(b, f), warnings
}

// findsDNN lets a backend find a cuDNN.
func findsDNN(b *backend, f *fakedriver.Fake) fakeDNN {
	l := fakeDNN{newFakeLibrary(f)}
	b.findDNN = func(int) libraries.Found {
		return libraries.Found{Path: "libcudnn.so.9", Version: "9.20.0"}
	}
	b.openDNN = l.Open
	return l
}

// chained is a convolution along one to three axes, or a gradient of one, and what may follow it.
func chained(t *testing.T, rng *rand.Rand, d ir.DType, op ir.Op, axes int) *ir.Program {
	groups, in, out := 1+rng.IntN(2), 8*(1+rng.IntN(2)), 8*(1+rng.IntN(3))
	a := ir.ConvAttrs{Groups: groups}
	x, kernel, y := ir.Shape{1 + rng.IntN(2)}, ir.Shape{}, ir.Shape{}
	y = append(y, x[0])
	for range axes {
		taps, stride, dilation := 1+rng.IntN(3), 1+rng.IntN(2), 1+rng.IntN(2)
		low, high := rng.IntN(2), rng.IntN(3)
		length := (taps-1)*dilation + 2 + rng.IntN(8-2*axes)
		a.Strides, a.Dilation, a.PadLow, a.PadHigh = append(a.Strides, stride), append(a.Dilation, dilation), append(a.PadLow, low), append(a.PadHigh, high)
		x, kernel = append(x, length), append(kernel, taps)
		y = append(y, (length+low+high-(taps-1)*dilation-1)/stride+1)
	}
	x, kernel, y = append(x, in*groups), append(kernel, in, out*groups), append(y, out*groups)
	p := ir.New("chained")
	input := func(s ir.Shape) ir.Value { return p.AddInput("in", ir.Type{DType: d, Shape: s}) }
	add := func(op ir.Op, attrs ir.Attrs, in ...ir.Value) ir.Value {
		v, err := p.Add("layer", op, attrs, in...)
		require.NoError(t, err)
		return v[0]
	}
	var v ir.Value
	switch op {
	case ir.Conv:
		v = add(op, a, input(x), input(kernel))
	case ir.ConvInputGrad:
		v = add(op, ir.ConvGradAttrs{Conv: a, Shape: x}, input(y), input(kernel))
	default:
		v = add(op, ir.ConvGradAttrs{Conv: a, Shape: kernel}, input(x), input(y))
	}
	shape := p.Type(v).Shape
	if rng.IntN(2) == 0 {
		last := len(shape) - 1
		v = add(ir.Add, nil, v, add(ir.Broadcast, ir.BroadcastAttrs{Shape: shape, Axes: []int{last}}, input(shape[last:])))
	}
	if what := rng.IntN(4); what > 1 {
		v = add([]ir.Op{ir.Relu, ir.Tanh}[what-2], nil, v)
	}
	p.AddOutput("out", v)
	return p
}

// Convolutions by cuDNN and their gradients agree with the reference, with chains and sums of operands after them, in
// steps that are captured, and leave nothing behind. A bias and an activation are part of the library's call.
func TestConvolutionsByLibrary(t *testing.T) {
	rounds := 72
	if brief() {
		rounds = 18
	}
	used, fused := 0, 0
	for i := range rounds {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(uint64(i), 41))
			d, op := []ir.DType{ir.BFloat16, ir.Float16, ir.Float32}[i%3], []ir.Op{ir.Conv, ir.ConvInputGrad, ir.ConvKernelGrad}[i/3%3]
			units := 4.0
			if d == ir.Float32 {
				units = 64
				kernels.AllowTF32(i%2 == 0)
				defer kernels.AllowTF32(false)
			}
			f := fakedriver.New(fakedriver.Options{Order: ptxsim.Shuffled, Capability: 90})
			b := newBackend(Kind, func() (driver.API, error) { return f, nil })
			l := fakeDNN{newFakeLibrary(f)}
			b.findDNN, b.openDNN = func(int) libraries.Found { return libraries.Found{Path: "libcudnn.so.9"} }, l.Open
			b.pickLibrary = func(q lower.Question) string {
				assert.Contains(t, q.Libraries, lower.DNN)
				return lower.DNN
			}
			p := chained(t, rng, d, op, 1+i/9%3)
			if op == ir.ConvKernelGrad && len(p.Type(p.Outputs[0].Value).Shape) == 4 {
				withSums(t, rng, p)
			}
			plan, err := lower.Program(p, lower.Options{Capability: 90, Library: b.pickLibrary})
			require.NoError(t, err)
			if c := plan.Steps[0].Convolution; c != nil && (c.Bias || c.ReLU) {
				fused++
			}
			agrees(t, b, p, rng, units)
			used += l.Calls("cudnnBackendExecute")
			require.NoError(t, f.Fault())
			require.NoError(t, b.close())
			assert.Empty(t, f.Alive())
			assert.Zero(t, l.Alive())
		})
	}
	assert.Greater(t, used, rounds/2)
	assert.Greater(t, fused, rounds/24)
}

// A bias that is not in memory is no part of cuDNN's call.
func TestBiasThatIsComputed(t *testing.T) {
	f := fakedriver.New(fakedriver.Options{Capability: 90})
	b := newBackend(Kind, func() (driver.API, error) { return f, nil })
	l := findsDNN(b, f)
	b.pickLibrary = func(lower.Question) string { return lower.DNN }
	p := ir.New("biased")
	input := func(s ...int) ir.Value { return p.AddInput("in", ir.Type{DType: ir.BFloat16, Shape: s}) }
	add := func(op ir.Op, attrs ir.Attrs, in ...ir.Value) ir.Value {
		v, err := p.Add("layer", op, attrs, in...)
		require.NoError(t, err)
		return v[0]
	}
	y := add(ir.Conv, ir.ConvAttrs{Strides: []int{1, 1}, Dilation: []int{1, 1}, PadLow: []int{1, 0}, PadHigh: []int{0, 0}, Groups: 1}, input(2, 6, 6, 8), input(3, 3, 8, 8))
	bias := add(ir.Broadcast, ir.BroadcastAttrs{Shape: p.Type(y).Shape, Axes: []int{3}}, add(ir.Neg, nil, input(8)))
	p.AddOutput("out", add(ir.Add, nil, y, bias))
	agrees(t, b, p, rand.New(rand.NewPCG(1, 44)), 4)
	assert.Positive(t, l.Calls("cudnnBackendExecute"))
	require.NoError(t, f.Fault())
}

// cuDNN makes convolutions where it is measured to be faster; that is found out once, for each of its versions, and
// remembered. It is not taken where it is missing, too old, wrong or fails.
func TestConvolutionsAreMeasured(t *testing.T) {
	folder := t.TempDir()
	p := chained(t, rand.New(rand.NewPCG(1, 1)), ir.Float32, ir.Conv, 2)
	b, _, l, warnings := withDNN(t, folder, "cuDNN")
	assert.True(t, multiplied(t, b, p))
	n := l.Calls("cudnnBackendExecute")
	assert.Positive(t, n)
	assert.True(t, multiplied(t, b, p))
	assert.Equal(t, n, l.Calls("cudnnBackendExecute"), "it is known now")
	assert.Nil(t, b.libraryPicker(kernels.Device{Kind: Kind}, lower.Options{Replicas: 2}), "replicas must all choose alike")
	again, _, l, _ := withDNN(t, folder, "never")
	assert.True(t, multiplied(t, again, p), "another process")
	assert.Zero(t, l.Calls("cudnnCreate"))
	for name, change := range map[string]func(b *backend, l fakeDNN){
		"another version": func(b *backend, _ fakeDNN) {
			b.findDNN = func(int) libraries.Found { return libraries.Found{Path: "x", Version: "9.21.0"} }
			b.tuning.measure = func(_ string, run func(times int) error) (time.Duration, error) { return time.Millisecond, run(1) }
		},
		"missing": func(b *backend, _ fakeDNN) { b.findDNN = func(int) libraries.Found { return libraries.Found{} } },
		"too old": func(b *backend, _ fakeDNN) {
			b.findDNN = func(int) libraries.Found { return libraries.Found{Path: "x", Problem: "it is old"} }
		},
		"wrong": func(_ *backend, l fakeDNN) { l.wrong = true },
		"fails": func(_ *backend, l fakeDNN) { l.Fail("cudnnBackendFinalize", 1) },
	} {
		at := t.TempDir()
		if name == "another version" {
			at = folder
		}
		b, _, l, _ := withDNN(t, at, "cuDNN")
		change(b, l)
		assert.False(t, multiplied(t, b, p), name)
	}
	assert.Empty(t, *warnings)
}

// A convolution that looks at each place alone is a product of matrices: cuBLASLt may make it too.
func TestPointwiseConvolutions(t *testing.T) {
	for i, op := range []ir.Op{ir.Conv, ir.ConvInputGrad, ir.ConvKernelGrad} {
		rng := rand.New(rand.NewPCG(uint64(i), 43))
		f := fakedriver.New(fakedriver.Options{Capability: 90})
		b := newBackend(Kind, func() (driver.API, error) { return f, nil })
		l := fakeBLAS{newFakeLibrary(f)}
		b.findBLAS, b.openBLAS = func(int) libraries.Found { return libraries.Found{Path: "libcublasLt.so.12"} }, l.Open
		b.pickLibrary = func(q lower.Question) string { return q.Libraries[0] }
		x, kernel, y := ir.Shape{2, 5, 4, 24}, ir.Shape{1, 1, 24, 16}, ir.Shape{2, 5, 4, 16}
		a := ir.ConvAttrs{Strides: []int{1, 1}, Dilation: []int{1, 1}, PadLow: []int{0, 0}, PadHigh: []int{0, 0}, Groups: 1}
		p := ir.New("pointwise")
		shapes, attrs := [][2]ir.Shape{{x, kernel}, {y, kernel}, {x, y}}[i], []ir.Attrs{a, ir.ConvGradAttrs{Conv: a, Shape: x}, ir.ConvGradAttrs{Conv: a, Shape: kernel}}[i]
		v, err := p.Add("layer", op, attrs, p.AddInput("", ir.Type{DType: ir.BFloat16, Shape: shapes[0]}), p.AddInput("", ir.Type{DType: ir.BFloat16, Shape: shapes[1]}))
		require.NoError(t, err)
		p.AddOutput("out", v[0])
		agrees(t, b, p, rng, 4)
		assert.Positive(t, l.Calls("cublasLtMatmul"))
		require.NoError(t, f.Fault())
	}
}

// Every call of cuDNN that fails leaves a device that goes on with its own kernels, and says so once; a capture that it
// spoils is made again.
func TestConvolutionFails(t *testing.T) {
	p := chained(t, rand.New(rand.NewPCG(2, 2)), ir.BFloat16, ir.Conv, 2)
	for call, times := range map[string]int{"cudnnCreate": 1, "cudnnBackendFinalize": 1, "cudnnBackendExecute": 3} {
		for n := 1; n <= times; n++ {
			for _, spoils := range []bool{false, true} {
				if spoils && n < 3 {
					continue
				}
				t.Run(fmt.Sprint(call, " ", n, " ", spoils), func(t *testing.T) {
					b, f, l, warnings := withDNN(t, t.TempDir(), "")
					b.pickLibrary = func(lower.Question) string { return lower.DNN }
					l.spoils = spoils
					l.Fail(call, n)
					run := repeating(t, b, p)
					want := run()
					for range 4 {
						assert.Equal(t, want, run())
					}
					require.Len(t, *warnings, 1)
					assert.Contains(t, (*warnings)[0], "cuda: cuda:0 goes on without cuDNN: ")
					assert.Contains(t, (*warnings)[0], call)
					assert.Positive(t, f.Calls()["cuGraphLaunch"])
				})
			}
		}
	}
}

// The kernel of a convolution finds the statistics of its results; after cuDNN a kernel reads them once more. The time
// that the memory needs for this counts: cuDNN is taken where it is faster by more.
func TestStatisticsCountAgainstLibrary(t *testing.T) {
	plain := func() *ir.Program { return normalized(t, ir.Float32, 40, 24, 8, true, false) }
	bare := func() *ir.Program {
		p := plain()
		p.Outputs = p.Outputs[:1]
		return p
	}
	slow := fakedriver.Options{MemoryClock: 2_619} // kHz
	b, _, _ := measured(t, t.TempDir(), slow, "")
	d, err := b.device(kernels.Device{Kind: Kind})
	require.NoError(t, err)
	p := plain()
	pass := time.Duration(float64(p.Type(p.Outputs[0].Value).Bytes()) / d.bandwidth() * float64(time.Second))
	require.Greater(t, pass, time.Microsecond)
	for _, c := range []struct {
		name    string
		program *ir.Program
		saves   time.Duration // cuDNN, beside our kernel
		library bool
	}{
		{"statistics, less than a pass", plain(), pass / 2, false},
		{"statistics, more than a pass", plain(), pass * 3 / 2, true},
		{"no statistics", bare(), pass / 2, true},
	} {
		b, f, _ := measured(t, t.TempDir(), slow, "")
		findsDNN(b, f)
		b.tuning.measure = func(way string, run func(times int) error) (time.Duration, error) {
			took := time.Millisecond
			if strings.Contains(way, lower.DNN) {
				took -= c.saves
			}
			return took, run(1)
		}
		assert.Equal(t, c.library, multiplied(t, b, c.program), c.name)
	}
}
