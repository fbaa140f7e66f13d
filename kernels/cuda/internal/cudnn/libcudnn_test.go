package cudnn

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
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
	path = filepath.Join(t.TempDir(), "libcudnn.so.9")
	out, err := exec.Command(compiler, "-O1", "-shared", "-fPIC", "-o", path, "testdata/libcudnn.c").CombinedOutput()
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

// random returns a random convolution with the given number of spatial axes.
func random(rng *rand.Rand, axes int) Problem {
	p := Problem{Kind: Kind(rng.IntN(3)), Type: []Type{Float32, Float16, BFloat16}[rng.IntN(3)], Batch: 1 + rng.Int64N(2), Groups: 1 + rng.Int64N(2)}
	p.In, p.Out = p.Groups*(1+rng.Int64N(3)), p.Groups*(1+rng.Int64N(3))
	for range axes {
		taps, stride, dilation := 1+rng.Int64N(3), 1+rng.Int64N(2), 1+rng.Int64N(2)
		low, high := rng.Int64N(2), rng.Int64N(3)
		x := (taps-1)*dilation + 1 + rng.Int64N(4)
		p.X, p.Taps, p.Stride, p.Dilation = append(p.X, x), append(p.Taps, taps), append(p.Stride, stride), append(p.Dilation, dilation)
		p.PadLow, p.PadHigh = append(p.PadLow, low), append(p.PadHigh, high)
		p.Y = append(p.Y, (x+low+high-(taps-1)*dilation-1)/stride+1)
	}
	if p.Kind == Forward {
		p.Bias, p.ReLU = rng.IntN(2) == 0, rng.IntN(2) == 0
	}
	return p
}

func product(list []int64) int64 {
	n := int64(1)
	for _, x := range list {
		n *= x
	}
	return n
}

// values are the elements of x, w, y and bias.
type values [4][]float64

func (p Problem) sizes() [4]int64 {
	return [4]int64{p.Batch * p.In * product(p.X), p.Out * p.In / p.Groups * product(p.Taps), p.Batch * p.Out * product(p.Y), p.Out}
}

// expect computes a convolution in Go, by its definition.
func (p Problem) expect(v values) []float64 {
	which := map[Kind]int{Forward: 2, InputGrad: 0, KernelGrad: 1}[p.Kind]
	result := make([]float64, p.sizes()[which])
	in, out := p.In/p.Groups, p.Out/p.Groups
	for b := range p.Batch {
		for at := range product(p.Y) {
			for o := range p.Out {
				for tap := range product(p.Taps) {
					place, rest, restTap, scale, inside := int64(0), at, tap, int64(1), true
					for i := len(p.X) - 1; i >= 0; i-- {
						x := rest%p.Y[i]*p.Stride[i] + restTap%p.Taps[i]*p.Dilation[i] - p.PadLow[i]
						inside = inside && x >= 0 && x < p.X[i]
						place += x * scale
						rest, restTap, scale = rest/p.Y[i], restTap/p.Taps[i], scale*p.X[i]
					}
					for c := range in {
						if !inside {
							continue
						}
						x := (b*product(p.X)+place)*p.In + o/out*in + c
						w := (o*product(p.Taps)+tap)*in + c
						y := (b*product(p.Y)+at)*p.Out + o
						switch p.Kind {
						case Forward:
							result[y] += v[0][x] * v[1][w]
						case InputGrad:
							result[x] += v[2][y] * v[1][w]
						case KernelGrad:
							result[w] += v[0][x] * v[2][y]
						}
					}
				}
			}
		}
	}
	for i := range result {
		if p.Bias {
			result[i] += v[3][int64(i)%p.Out]
		}
		if p.ReLU {
			result[i] = max(result[i], 0)
		}
	}
	return result
}

// run convolves random integers twice and compares the results with those computed in Go.
func run(t *testing.T, l API, p Problem) error {
	rng := rand.New(rand.NewPCG(1, 2))
	c, err := l.Prepare(p)
	if err != nil {
		return err
	}
	defer c.Close()
	for range 2 {
		var v values
		var data [4][]byte
		for i, n := range p.sizes() {
			for range n {
				v[i] = append(v[i], float64(rng.IntN(3)-1))
				data[i] = ir.AppendElement(data[i], dtypes[p.Type], v[i][len(v[i])-1])
			}
		}
		at := func(i int) uint64 { return uint64(uintptr(unsafe.Pointer(&data[i][0]))) }
		if err := c.Run(Places{at(0), at(1), at(2), at(3), 77}, 99); err != nil {
			return err
		}
		which := map[Kind]int{Forward: 2, InputGrad: 0, KernelGrad: 1}[p.Kind]
		for i, want := range p.expect(v) {
			require.Equal(t, want, ir.Element(data[which], dtypes[p.Type], i), "%d of %+v", i, p)
		}
	}
	return nil
}

// Convolutions and their gradients, of one to three axes, of every type, with groups, strides, dilation, unequal
// padding, a bias and an activation.
func TestConvolutions(t *testing.T) {
	path, _, alive := fake(t)
	l, err := Open(path)
	require.NoError(t, err)
	for i := range 120 {
		rng := rand.New(rand.NewPCG(uint64(i), 3))
		p := random(rng, 1+i%3)
		require.NoError(t, run(t, l, p), "%+v", p)
	}
	p := random(rand.New(rand.NewPCG(1, 1)), 2)
	p.In, p.Out, p.Groups = 2, 11, 1 // not supported by the first engines
	require.NoError(t, run(t, l, p))
	p.Y[0]++
	assert.ErrorContains(t, run(t, l, p), "cudnnBackendFinalize: CUDNN_STATUS_BAD_PARAM (2000)")
	assert.Equal(t, 1, alive())
	require.NoError(t, l.Close())
	assert.Zero(t, alive())
}

// NaN passes through an activation, as in our kernels: that is how users notice that training has failed.
func TestNaN(t *testing.T) {
	path, _, _ := fake(t)
	l, err := Open(path)
	require.NoError(t, err)
	one := []int64{1}
	p := Problem{Kind: Forward, Type: Float32, Batch: 1, Groups: 1, In: 1, Out: 1, X: one, Y: one, Taps: one, Stride: one, Dilation: one, PadLow: []int64{0}, PadHigh: []int64{0}, ReLU: true}
	c, err := l.Prepare(p)
	require.NoError(t, err)
	x, w, y := float32(math.NaN()), float32(1), float32(0)
	at := func(v *float32) uint64 { return uint64(uintptr(unsafe.Pointer(v))) }
	require.NoError(t, c.Run(Places{X: at(&x), W: at(&w), Y: at(&y), Workspace: 77}, 99))
	assert.True(t, math.IsNaN(float64(y)), y)
	c.Close()
	require.NoError(t, l.Close())
}

// Engines that round more, or whose results differ from run to run, are rejected.
func TestEnginesThatAreRefused(t *testing.T) {
	for _, c := range []struct {
		typ  Type
		tf32 bool
		want []int32
	}{{Float32, false, []int32{0, 1, 2, 3, 4, 5}}, {Float32, true, []int32{2, 3, 4, 5}}, {BFloat16, false, []int32{2, 3, 4, 5}}} {
		var refused []int32
		for note := range int32(12) {
			if (Problem{Type: c.typ, TF32: c.tf32}).refuses(note) {
				refused = append(refused, note)
			}
		}
		assert.Equal(t, c.want, refused)
	}
}

// Every failing call gives an error that names it, or another engine is tried; nothing leaks.
func TestFailures(t *testing.T) {
	path, fail, alive := fake(t)
	failed := 0
	p := random(rand.New(rand.NewPCG(4, 4)), 2)
	p.Kind, p.Bias, p.ReLU = Forward, true, true
	for _, name := range names {
		for n := 1; n <= 90; n++ {
			before := alive()
			fail(name, n)
			l, err := Open(path)
			if err == nil {
				err = run(t, l, p)
				if strings.HasSuffix(name, "DestroyDescriptor") {
					fail("", 0)
				}
				if closing := l.Close(); err == nil {
					err = closing
				}
			}
			fail("", 0)
			if err != nil {
				failed++
				assert.ErrorContains(t, err, fmt.Sprintf("%s: CUDNN_STATUS_INTERNAL_ERROR (4000)", name))
			}
			if !strings.Contains(name, "Destroy") {
				require.Equal(t, before, alive(), "%s %d", name, n)
			}
		}
	}
	assert.Greater(t, failed, 60)
	_, err := Open(path + ".none")
	assert.ErrorContains(t, err, "cudnn: ")
}

// NVIDIA's library accepts the descriptors without a GPU, up to the graph of operations.
func TestRealLibrary(t *testing.T) {
	path := os.Getenv("GOKERAS_CUDNN")
	if path == "" {
		t.Skip("GOKERAS_CUDNN does not name a libcudnn.so.9; internal/test-cuda.sh downloads one")
	}
	l, err := load(path)
	require.NoError(t, err)
	for i := range 300 {
		p := random(rand.New(rand.NewPCG(uint64(i), 5)), 1+i%3)
		c := &convolution{l: l}
		_, err := c.graph(p.flat())
		require.NoError(t, err, "%d %+v", i, p)
		c.Close()
		p.Y[0]++
		_, err = c.graph(p.flat())
		require.Error(t, err)
		c.Close()
	}
}
