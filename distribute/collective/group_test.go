package collective

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"net"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/distribute/cluster"
	"github.com/gokeras/gokeras/distribute/internal/numbers"
	"github.com/gokeras/gokeras/kernels/ir"
)

// listeners opens n loopback listeners and returns the cluster of their addresses.
func listeners(t testing.TB, n int) (*cluster.Spec, []net.Listener) {
	var list []net.Listener
	var addresses []string
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		list = append(list, l)
		addresses = append(addresses, l.Addr().String())
	}
	spec, err := cluster.NewSpec(map[string][]string{cluster.Worker: addresses})
	require.NoError(t, err)
	return spec, list
}

// join starts n workers in this process.
func join(t testing.TB, n int, change func(rank int, o *Options)) []*Group {
	spec, list := listeners(t, n)
	groups := make([]*Group, n)
	errs := make([]error, n)
	var running sync.WaitGroup
	for rank := range n {
		running.Go(func() {
			o := Options{Cluster: spec, Task: cluster.Task{Type: cluster.Worker, Index: rank}, Listener: list[rank], JoinTimeout: time.Minute, Timeout: 2 * time.Minute} // for a machine that has much else to do
			if change != nil {
				change(rank, &o)
			}
			groups[rank], errs[rank] = Join(context.Background(), o)
		})
	}
	running.Wait()
	for _, err := range errs {
		require.NoError(t, err)
	}
	t.Cleanup(func() {
		for _, g := range groups {
			_ = g.Close() // some tests have closed it
		}
	})
	return groups
}

// together runs f for all groups at once.
func together(groups []*Group, f func(rank int, g *Group) error) []error {
	errs := make([]error, len(groups))
	var running sync.WaitGroup
	for rank, g := range groups {
		if g != nil {
			running.Go(func() { errs[rank] = f(rank, g) })
		}
	}
	running.Wait()
	return errs
}

func noErrors(t testing.TB, errs []error) {
	t.Helper()
	for rank, err := range errs {
		require.NoError(t, err, "worker %d", rank)
	}
}

var modes = map[string]func(int, *Options){
	"shared": nil,
	"stream": func(_ int, o *Options) { o.NoSharedMemory, o.SegmentBytes = true, 4096 },
}

// sizes are numbers of elements around the borders of messages, windows and chunks.
var sizes = []int{0, 1, 2, 5, 1023, 4096, 4097, 65537, 70_001}

func TestAllReduce(t *testing.T) {
	for name, mode := range modes {
		for _, n := range []int{1, 2, 3, 4, 5} {
			t.Run(fmt.Sprintf("%s %d", name, n), func(t *testing.T) {
				groups := join(t, n, mode)
				require.Equal(t, name == "shared" && n > 1 && runtime.GOOS == "linux", groups[0].View().SharedMemory)
				for i, size := range sizes {
					checkAllReduce(t, groups, []Reduction{Sum, Mean, Max}[(i+n)%3], size)
				}
			})
		}
	}
}

// checkAllReduce compares an all-reduce of random float32 with the same in float64, and all workers' bits with each
// other's.
func checkAllReduce(t *testing.T, groups []*Group, op Reduction, size int) {
	n := len(groups)
	values := make([][]float32, n)
	want, scale := make([]float64, size), make([]float64, size)
	for rank := range values {
		rng := rand.New(rand.NewPCG(uint64(rank), uint64(size)))
		values[rank] = make([]float32, size)
		for i := range values[rank] {
			x := float32(rng.NormFloat64())
			values[rank][i] = x
			scale[i] += math.Abs(float64(x))
			switch {
			case op == Max && rank == 0:
				want[i] = float64(x)
			case op == Max:
				want[i] = max(want[i], float64(x))
			case op == Mean:
				want[i] += float64(x) / float64(n)
			default:
				want[i] += float64(x)
			}
		}
	}
	// Two tensors, to cross their border too.
	noErrors(t, together(groups, func(rank int, g *Group) error {
		cut := size / 3
		return g.AllReduce(context.Background(), op, []Tensor{Of(values[rank][:cut]), Of(values[rank][cut:])})
	}))
	for rank := range values {
		for i, x := range values[rank] {
			if !(math.Abs(float64(x)-want[i]) <= 1e-6*scale[i]) {
				t.Fatalf("%v of %d: worker %d element %d: %v instead of %v", op, size, rank, i, x, want[i])
			}
			if math.Float32bits(x) != math.Float32bits(values[0][i]) {
				t.Fatalf("%v of %d: worker %d and 0 differ in element %d", op, size, rank, i)
			}
		}
	}
}

// The bits depend neither on the transport nor on the run.
func TestSameBitsOnEveryTransport(t *testing.T) {
	for _, wire := range []ir.DType{ir.Invalid, ir.BFloat16} {
		for _, n := range []int{2, 3, 4} {
			var all [][][]float32
			for _, mode := range []func(int, *Options){nil, modes["stream"], func(_ int, o *Options) { o.NoSharedMemory = true }} {
				groups := join(t, n, mode)
				results := make([][]float32, len(sizes))
				noErrors(t, together(groups, func(rank int, g *Group) error {
					for k, size := range sizes {
						rng := rand.New(rand.NewPCG(uint64(rank), uint64(size)))
						v := make([]float32, size)
						for i := range v {
							v[i] = float32(rng.NormFloat64() * math.Exp(8*rng.NormFloat64()))
						}
						if err := g.AllReduce(context.Background(), Mean, []Tensor{Of(v)}, Wire(wire)); err != nil {
							return err
						}
						if rank == n-1 {
							results[k] = v
						}
					}
					return nil
				}))
				all = append(all, results)
			}
			for k := range sizes {
				for other := 1; other < len(all); other++ {
					require.Equal(t, numbers.Bytes(all[0][k]), numbers.Bytes(all[other][k]), "%d workers, size %d, wire %v, mode %d", n, sizes[k], wire, other)
				}
			}
		}
	}
}

func TestBFloat16Wire(t *testing.T) {
	groups := join(t, 2, modes["stream"])
	const size = 100_000
	before := groups[0].Stats().Sent
	values := [2][]float32{}
	noErrors(t, together(groups, func(rank int, g *Group) error {
		v := make([]float32, size)
		for i := range v {
			v[i] = float32(i%1000) + float32(rank)/2
		}
		values[rank] = v
		return g.AllReduce(context.Background(), Sum, []Tensor{Of(v)}, Wire(ir.BFloat16))
	}))
	require.Equal(t, values[0], values[1])
	for i, x := range values[0] {
		want := 2*float64(i%1000) + 0.5
		if !(math.Abs(float64(x)-want) <= want/100) {
			t.Fatalf("element %d: %v instead of %v", i, x, want)
		}
	}
	sent := groups[0].Stats().Sent - before
	require.Less(t, sent, int64(2*size*105/100), "half of the bytes of float32, and 5%%")
	require.Error(t, groups[0].AllReduce(context.Background(), Sum, []Tensor{Of(values[0])}, Wire(ir.Float16)))
}

// What a step sends besides its data stays small: headers, and what workers tell each other about how far they are.
func TestFixedCostOfAStep(t *testing.T) {
	for _, n := range []int{2, 3} {
		for _, elements := range []int{161, 50_000} { // a tree, and a ring
			groups := join(t, n, func(_ int, o *Options) { o.NoSharedMemory = true })
			const steps = 200
			work := func() {
				noErrors(t, together(groups, func(_ int, g *Group) error {
					gradients := []Tensor{Of(make([]float32, elements))}
					for step := range steps {
						if err := g.AllReduce(background(), Sum, gradients); err != nil {
							return err
						}
						if _, err := g.StepEnd(background(), uint64(step+1), 0); err != nil {
							return err
						}
					}
					return nil
				}))
			}
			sent := func() (total float64) {
				for _, g := range groups {
					total += float64(g.Stats().Sent)
				}
				return total / float64(n)
			}
			work() // opens streams
			data := 2 * float64(n-1) / float64(n) * float64(4*elements)
			most, fixed := 300.0+data/1000, math.Inf(1) // HTTP/2 puts 9 bytes before each 16 KiB
			for attempt := 0; attempt < 5 && fixed >= most; attempt++ {
				before := sent() // signs of life too, of which slow steps on a busy machine have more
				work()
				fixed = min(fixed, (sent()-before)/steps-data)
			}
			t.Logf("%d workers, %d elements: %.0f bytes a step and worker besides %.0f of data", n, elements, fixed, data)
			require.Less(t, fixed, most)
		}
	}
}

func TestAllReduceTypes(t *testing.T) {
	for name, mode := range modes {
		groups := join(t, 3, mode)
		noErrors(t, together(groups, func(rank int, g *Group) error {
			r := rank + 1
			a, b, c, d := []int8{int8(r), -1}, []int64{int64(r) << 40}, []float64{float64(r) / 3}, []uint16{0x3f80, 0x4000} // bfloat16 1 and 2
			half := Tensor{DType: ir.BFloat16, Data: numbers.Bytes(d)}
			if err := g.AllReduce(context.Background(), Sum, []Tensor{Of(a), Of(b), Of(c), half}); err != nil {
				return err
			}
			if a[0] != 6 || a[1] != -3 || b[0] != 6<<40 || !(math.Abs(c[0]-2) <= 1e-15) || d[0] != 0x4040 || d[1] != 0x40c0 {
				return fmt.Errorf("%s: %v %v %v %x", name, a, b, c, d)
			}
			e := []int32{int32(r), 7}
			if err := g.AllReduce(context.Background(), Product, []Tensor{Of(e)}); err != nil {
				return err
			}
			if e[0] != 6 || e[1] != 343 {
				return fmt.Errorf("product %v", e)
			}
			return nil
		}))
	}
}

func TestAllGatherAndBroadcast(t *testing.T) {
	for name, mode := range modes {
		for _, n := range []int{1, 2, 3, 5} {
			groups := join(t, n, mode)
			for _, size := range []int{0, 1, 1000, 70_000} {
				noErrors(t, together(groups, func(rank int, g *Group) error {
					rows := size * (rank + 1) % (size + 3)
					own := make([]int32, 2*rows)
					for i := range own {
						own[i] = int32(rank*1000 + i)
					}
					parts, err := g.AllGather(context.Background(), Of(own, rows, 2))
					if err != nil {
						return err
					}
					for r, part := range parts {
						v := Values[int32](part)
						if want := size * (r + 1) % (size + 3); len(v) != 2*want || part.Shape[0] != want || part.Shape[1] != 2 {
							return fmt.Errorf("%s size %d rank %d: %v rows of %d: %d values", name, size, r, part.Shape, want, len(v))
						}
						for i, x := range v {
							if x != int32(r*1000+i) {
								return fmt.Errorf("%s size %d rank %d element %d: %d", name, size, r, i, x)
							}
						}
					}
					v := make([]float64, size)
					root := (n - 1) / 2
					for i := range v {
						v[i] = float64(rank*i + 1)
					}
					if err := g.Broadcast(context.Background(), root, []Tensor{Of(v[:size/2]), Of(v[size/2:])}); err != nil {
						return err
					}
					for i, x := range v {
						if x != float64(root*i+1) {
							return fmt.Errorf("broadcast %s size %d element %d: %v", name, size, i, x)
						}
					}
					return g.Barrier(context.Background())
				}))
			}
		}
	}
}
