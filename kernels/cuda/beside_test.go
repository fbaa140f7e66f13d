//go:build linux

package cuda

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/kernels"
	_ "github.com/gokeras/gokeras/kernels/cpu"
	"github.com/gokeras/gokeras/kernels/cuda/internal/driver"
	"github.com/gokeras/gokeras/kernels/cuda/internal/fakedriver"
	"github.com/gokeras/gokeras/kernels/cuda/internal/fakenccl"
	"github.com/gokeras/gokeras/kernels/cuda/internal/nccl"
	"github.com/gokeras/gokeras/kernels/ir"
)

// drafting builds a program of replicas; mistakes end the test.
type drafting struct {
	*ir.Program
	t testing.TB
}

func (p drafting) add(scope string, op ir.Op, a ir.Attrs, in ...ir.Value) ir.Value {
	p.t.Helper()
	out, err := p.Add(scope, op, a, in...)
	require.NoError(p.t, err)
	return out[0]
}

// buckets is a step with the gradients of two layers: the sum of the first begins while the second is computed.
func buckets(t testing.TB, n int) *ir.Program {
	p := drafting{ir.New("buckets"), t}
	square := ir.Type{DType: ir.Float32, Shape: ir.Shape{8, 8}}
	x, w, u := p.AddInput("x", square), p.AddInput("w", square), p.AddInput("u", square)
	product := ir.DotAttrs{LhsContract: []int{1}, RhsContract: []int{0}}
	second := p.add("second", ir.Dot, product, x, w)
	sum := p.add("second", ir.AllReduce, ir.CollectiveAttrs{Kind: ir.Sum, Replicas: n, Bucket: 1}, second)
	first := p.add("first", ir.Dot, product, second, u)
	rest := p.add("first", ir.AllReduce, ir.CollectiveAttrs{Kind: ir.Sum, Replicas: n, Bucket: 2}, first)
	p.AddAlias("w", p.add("update", ir.Sub, nil, w, sum), 1)
	p.AddAlias("u", p.add("update", ir.Sub, nil, u, rest), 2)
	return p.Program
}

// While the sum of the first bucket waits for the other process, the backward pass goes on in the first stream. When
// the other one comes, the step ends as if the sums had been formed in between.
func TestBucketsOverlap(t *testing.T) {
	processes := newProcesses(2)
	members := newMembers(processes, 1, 1)
	type end struct {
		launch func() kernels.Event
		w, u   kernels.Buffer
		close  []func()
	}
	ends := each(2, func(i int) end {
		var e end
		comms, err := members[i].NewCommunicators(t.Context(), kernels.CommunicatorOptions{Devices: []kernels.Device{{Kind: Kind}}})
		require.NoError(t, err)
		exec, err := members[i].Compile(buckets(t, 2), kernels.CompileOptions{Device: kernels.Device{Kind: Kind}, Replicas: 2})
		require.NoError(t, err)
		s, err := exec.NewSession(kernels.SessionOptions{Device: kernels.Device{Kind: Kind}, Replica: i})
		require.NoError(t, err)
		q, err := members[i].NewQueue(kernels.Device{Kind: Kind})
		require.NoError(t, err)
		var in []kernels.Buffer
		for k := range 3 {
			b, err := members[i].NewBuffer(kernels.Device{Kind: Kind}, ir.Type{DType: ir.Float32, Shape: ir.Shape{8, 8}})
			require.NoError(t, err)
			var data []byte
			for j := range 64 {
				x := 0.0
				if j/8 == j%8 { // diagonal, so that the numbers are small
					x = []float64{float64(i + 1), 3, 5}[k]
				}
				data = ir.AppendElement(data, ir.Float32, x)
			}
			require.NoError(t, b.Write(data))
			in, e.close = append(in, b), append(e.close, b.Free)
		}
		e.close = append(e.close, exec.Close, s.Close, q.Close, comms[0].Close)
		e.w, e.u = in[1], in[2]
		e.launch = func() kernels.Event {
			return s.Launch(context.Background(), kernels.Launch{Queue: q, Inputs: in, Outputs: []kernels.Buffer{nil, nil}, Communicator: comms[0]})
		}
		return e
	})
	f := processes[0].driver
	f.Trace()
	event := ends[0].launch()
	products := func(spans []fakedriver.Span) (ended int) {
		for _, s := range spans {
			if s.Stream == 0 && s.End > 0 {
				ended++
			}
		}
		return ended
	}
	isSum := func(s fakedriver.Span) bool { return s.What == "ncclAllReduce" }
	// The second product comes after the first sum in the program, and updates come after both sums.
	require.Eventually(t, func() bool {
		spans := f.Spans()
		return slices.ContainsFunc(spans, isSum) && products(spans) == 2
	}, 20*time.Second, time.Millisecond, "the backward pass goes on: %+v", f.Spans())
	spans := f.Spans()
	sum := spans[slices.IndexFunc(spans, isSum)]
	assert.Equal(t, 1, sum.Stream, "collectives have a stream of their own")
	assert.Zero(t, sum.End, "the other process has not come")
	other := ends[1].launch()
	require.NoError(t, event.Wait(t.Context()))
	require.NoError(t, other.Wait(t.Context()))
	for i, e := range ends {
		for b, want := range map[kernels.Buffer]float64{e.w: 3 - (1*3 + 2*3), e.u: 5 - (1*3*5 + 2*3*5)} {
			data := make([]byte, 256)
			require.NoError(t, b.Read(data))
			assert.Equal(t, want, ir.Element(data, ir.Float32, 9), "process %d", i)
		}
	}
	each(2, func(i int) bool {
		for _, f := range slices.Backward(ends[i].close) {
			f()
		}
		return true
	})
	for i, p := range processes {
		require.NoError(t, p.clean(), "process %d", i)
	}
}

// entangled is a random program of n replicas with values that begin, wait for, and outlive each other's collectives.
// Integers come to the same bits in every order.
func entangled(t testing.TB, r *rand.Rand, n int) *ir.Program {
	p := drafting{ir.New("entangled"), t}
	typ := ir.Type{DType: ir.Int32, Shape: ir.Shape{4, 4 * n}}
	values := []ir.Value{p.AddInput("x", typ), p.AddInput("w", typ), p.AddInput("v", typ)}
	pick := func() ir.Value { // mostly what is new
		return values[max(0, len(values)-1-min(r.IntN(6), r.IntN(6)))]
	}
	for i := range 8 + r.IntN(16) {
		scope := fmt.Sprint("n", i)
		collective := ir.CollectiveAttrs{Kind: []ir.Kind{ir.Sum, ir.Max, ir.Min}[r.IntN(3)], Replicas: n, Bucket: r.IntN(3)}
		var v ir.Value
		switch r.IntN(12) {
		case 11: // a loop whose rounds meet the other replicas
			body := drafting{ir.New("round"), t}
			state, sum := body.AddInput("state", typ), collective
			sum.Bucket = 0
			body.AddOutput("state", body.add(scope, ir.Maximum, nil, state, body.add(scope, ir.AllReduce, sum, state)))
			v = p.add(scope, ir.Scan, ir.ScanAttrs{Body: body.Program, Length: 2, Carry: 1}, pick())
		case 0, 1, 2:
			v = p.add(scope, ir.AllReduce, collective, pick())
		case 3:
			collective.Kind, collective.Axis = "", 1
			v = p.add(scope, ir.Slice, ir.SliceAttrs{Start: []int{0, 2}, Limit: []int{4, 2 + 4*n}, Stride: []int{1, 1}}, p.add(scope, ir.AllGather, collective, pick()))
		case 4:
			collective.Axis = 1
			v = p.add(scope, ir.Concat, ir.AxisAttrs{Axis: 1}, slices.Repeat([]ir.Value{p.add(scope, ir.ReduceScatter, collective, pick())}, n)...)
		case 5:
			collective.Kind, collective.Root = "", r.IntN(n)
			v = p.add(scope, ir.CollectiveBroadcast, collective, pick())
		case 6:
			v = p.add(scope, ir.Cumulative, ir.CumulativeAttrs{Kind: ir.Sum, Axis: r.IntN(2)}, pick())
		case 7:
			v = p.add(scope, ir.Add, nil, pick(), pick())
		case 8, 9: // reductions of one shape share a kernel
			v = p.add(scope, ir.Broadcast, ir.BroadcastAttrs{Shape: typ.Shape}, p.add(scope, ir.Reduce, ir.ReduceAttrs{Kind: ir.Max, Axes: []int{0, 1}}, pick()))
		default:
			v = p.add(scope, ir.Maximum, nil, p.add(scope, ir.Reverse, ir.AxesAttrs{Axes: []int{r.IntN(2)}}, pick()), pick())
		}
		values = append(values, v)
	}
	p.AddOutput("y", pick())
	p.AddAlias("w", p.add("update", ir.Sub, nil, values[1], pick()), 1)
	p.AddAlias("v", p.add("update", ir.Sub, nil, values[2], pick()), 2)
	p.AddOutput("z", values[3+r.IntN(len(values)-3)])
	return p.Program
}

// replay runs a program a few times on n devices and returns what all outputs are at the end.
func replay(t testing.TB, b kernels.Backend, device func(i int) kernels.Device, p *ir.Program, n, steps int) [][]byte {
	var devices []kernels.Device
	for i := range n {
		devices = append(devices, device(i))
	}
	comms, err := b.NewCommunicators(t.Context(), kernels.CommunicatorOptions{Devices: devices})
	require.NoError(t, err)
	e, err := b.Compile(p, kernels.CompileOptions{Device: devices[0], Replicas: n})
	require.NoError(t, err)
	defer e.Close()
	events := make([][]kernels.Event, n)
	buffers := make([][]kernels.Buffer, n)
	var launches []func() kernels.Event
	for i, d := range devices {
		s, err := e.NewSession(kernels.SessionOptions{Device: d, Replica: i})
		require.NoError(t, err)
		defer s.Close()
		q, err := b.NewQueue(d)
		require.NoError(t, err)
		defer q.Close()
		take := func(v ir.Value, seed int) kernels.Buffer {
			x, err := b.NewBuffer(d, p.Type(v))
			require.NoError(t, err)
			var data []byte
			for j := range p.Type(v).Shape.Size() {
				data = ir.AppendElement(data, ir.Int32, float64(i*37+j*11%29+seed))
			}
			require.NoError(t, x.Write(data))
			buffers[i] = append(buffers[i], x)
			return x
		}
		var in, out []kernels.Buffer
		for k, x := range p.Inputs {
			in = append(in, take(x.Value, k))
		}
		for _, o := range p.Outputs {
			if o.Alias >= 0 {
				out = append(out, nil)
			} else {
				out = append(out, take(o.Value, 0))
			}
		}
		launches = append(launches, func() kernels.Event {
			return s.Launch(context.Background(), kernels.Launch{Queue: q, Inputs: in, Outputs: out, Communicator: comms[i]})
		})
	}
	for range steps {
		for i, e := range each(n, func(i int) kernels.Event { return launches[i]() }) {
			events[i] = append(events[i], e)
		}
	}
	var all [][]byte
	for i := range n {
		for _, e := range events[i] {
			require.NoError(t, e.Wait(t.Context()))
		}
		for _, x := range buffers[i] {
			data := make([]byte, x.Type().Bytes())
			require.NoError(t, x.Read(data))
			all = append(all, data)
			x.Free()
		}
	}
	for _, c := range comms {
		c.Close()
	}
	return all
}

// Random programs, whose collectives are slow beside their kernels, come to the numbers of CPUs, with every way in
// which replicas meet.
func TestEntangledCollectives(t *testing.T) {
	usual := twoShotBytes
	defer func() { twoShotBytes = usual }()
	cpu, err := kernels.Lookup("cpu")
	require.NoError(t, err)
	programs := 30
	if brief() {
		programs = 6
	}
	for seed := range programs {
		r := rand.New(rand.NewPCG(uint64(seed), 5))
		n := 2 + r.IntN(2)
		p := entangled(t, r, n)
		want := replay(t, cpu, func(i int) kernels.Device { return kernels.Device{Kind: "cpu", Index: i} }, p, n, 5)
		for name, c := range map[string]struct {
			apart func(a, b int) bool
			large int
			nccl  bool
		}{"at once": {nil, usual, false}, "shares": {nil, 1, false}, "through the host": {islands, 1, false}, "NCCL": {nil, usual, true}} {
			twoShotBytes = c.large
			f := fakedriver.New(fakedriver.Options{Devices: 3, NoPeers: c.apart, Lag: 50 * time.Microsecond})
			b := newBackend(Kind, func() (driver.API, error) { return f, nil })
			library := fakenccl.New(fakenccl.NewWorld(), f)
			b.openNCCL = func() (nccl.API, error) { return library, nil }
			var under kernels.Backend = b
			if c.nccl {
				under = byNCCL{b}
			}
			got := replay(t, under, func(i int) kernels.Device { return kernels.Device{Kind: Kind, Index: i} }, p, n, 5)
			require.NoError(t, f.Fault())
			require.NoError(t, library.Fault())
			require.True(t, slices.EqualFunc(want, got, bytes.Equal), "program %d on %d replicas, %s:\n%v", seed, n, name, p)
			require.NoError(t, b.close())
			require.Empty(t, f.Alive())
		}
	}
}

// Buckets of every size come to the same bits.
func TestBucketsOfEverySize(t *testing.T) {
	_, f := fakes()
	want, _ := fittedOn(t, mirroredOn(t, "fakecuda", 2, false), networks["CNN"]())
	for _, bytes := range []int{1, 100, 1000} {
		s, err := distribute.NewMirroredStrategyWith(distribute.MirroredOptions{Devices: []string{"fakecuda:0", "fakecuda:1"}, Communication: distribute.CommunicationOptions{BytesPerPack: bytes}})
		require.NoError(t, err)
		f.Trace()
		got, _ := fittedOn(t, s, networks["CNN"]())
		require.NoError(t, f.Fault())
		sameWeights(t, want, got, 0)
		assert.True(t, slices.ContainsFunc(f.Spans(), func(s fakedriver.Span) bool { return s.Stream == 1 }), "buckets of %d bytes go beside the backward pass", bytes)
	}
}

// A check that fails on one replica, before its first collective or while that goes on, is the error of all and changes
// no variable anywhere, also where the collectives go on beside kernels until the updates.
func TestBesideFailureChangesNothing(t *testing.T) {
	const n = 2
	for _, late := range []bool{false, true} {
		for name, c := range map[string]struct {
			apart func(a, b int) bool
			nccl  bool
		}{"peers": {}, "through the host": {apart: func(_, _ int) bool { return true }}, "NCCL": {nccl: true}} {
			t.Run(fmt.Sprint(name, " ", late), func(t *testing.T) {
				p := drafting{ir.New("checked"), t}
				float, whole := ir.Type{DType: ir.Float32, Shape: ir.Shape{8}}, ir.Type{DType: ir.Int32, Shape: ir.Shape{8}}
				w, g, i := p.AddInput("w", float), p.AddInput("g", float), p.AddInput("i", whole)
				total := func(bucket int, v ir.Value) ir.Value {
					return p.add("layer", ir.AllReduce, ir.CollectiveAttrs{Kind: ir.Sum, Replicas: n, Bucket: bucket}, v)
				}
				cumulative := ir.CumulativeAttrs{Kind: ir.Sum}
				first := g
				if !late {
					first = p.add("layer", ir.Gather, ir.GatherAttrs{}, g, i)
				}
				sum := total(1, p.add("layer", ir.Cumulative, cumulative, first))
				rows := p.add("layer", ir.Cumulative, cumulative, p.add("layer", ir.Gather, ir.GatherAttrs{}, g, i))
				other := total(2, rows)
				rest := p.add("layer", ir.Cumulative, cumulative, rows) // beside the last sum
				p.AddAlias("w", p.add("update", ir.Sub, nil, w, p.add("update", ir.Add, nil, rest, p.add("update", ir.Add, nil, sum, other))), 0)
				f := fakedriver.New(fakedriver.Options{Devices: n, NoPeers: c.apart, Lag: 50 * time.Microsecond})
				b := newBackend(Kind, func() (driver.API, error) { return f, nil })
				library := fakenccl.New(fakenccl.NewWorld(), f)
				b.openNCCL = func() (nccl.API, error) { return library, nil }
				devices := []kernels.Device{{Kind: Kind}, {Kind: Kind, Index: 1}}
				o := kernels.CommunicatorOptions{Devices: devices}
				if c.nccl {
					o.Library = kernels.NCCL
				}
				comms, err := b.NewCommunicators(t.Context(), o)
				require.NoError(t, err)
				e, err := b.Compile(p.Program, kernels.CompileOptions{Device: devices[0], Replicas: n})
				require.NoError(t, err)
				require.Equal(t, 2, e.(*executable).plan.Beside)
				var events []kernels.Event
				var weights []kernels.Buffer
				var end []func()
				for k, d := range devices {
					s, err := e.NewSession(kernels.SessionOptions{Device: d, Replica: k})
					require.NoError(t, err)
					var in []kernels.Buffer
					for j, typ := range []ir.Type{float, float, whole} {
						x, err := b.NewBuffer(d, typ)
						require.NoError(t, err)
						var data []byte
						for range 8 {
							data = ir.AppendElement(data, typ.DType, []float64{5, 1, float64(k * 99)}[j])
						}
						require.NoError(t, x.Write(data))
						in, end = append(in, x), append(end, x.Free)
					}
					weights, end = append(weights, in[0]), append(end, s.Close, comms[k].Close)
					events = append(events, s.Launch(t.Context(), kernels.Launch{Inputs: in, Outputs: []kernels.Buffer{nil}, Communicator: comms[k]}))
				}
				for k, e := range events {
					require.ErrorContains(t, e.Wait(t.Context()), "index 99", "replica %d", k)
				}
				for k, w := range weights {
					data := make([]byte, 32)
					require.NoError(t, w.Read(data))
					for j := range 8 {
						require.Equal(t, 5.0, ir.Element(data, ir.Float32, j), "replica %d", k)
					}
				}
				for _, f := range end {
					f()
				}
				e.Close()
				require.NoError(t, f.Fault())
				require.NoError(t, library.Fault())
				require.NoError(t, b.close())
				require.Empty(t, f.Alive())
			})
		}
	}
}
