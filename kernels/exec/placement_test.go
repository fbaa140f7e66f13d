package exec

import (
	"context"
	"fmt"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels"
	_ "github.com/gokeras/gokeras/kernels/cpu"
	"github.com/gokeras/gokeras/kernels/ir"
)

// placed is the least that functions need of a strategy.
type placed struct{ at *Placement }

func (s *placed) NumReplicasInSync() int    { return s.at.Total }
func (s *placed) Devices() []kernels.Device { return s.at.Devices }
func (s *placed) String() string            { return "placed(" + s.at.DeviceNames() + ")" }
func (s *placed) Placement() *Placement     { return s.at }

// newPlaced runs n replicas on logical CPUs.
func newPlaced(n int) *placed {
	s := &placed{at: &Placement{Total: n}}
	for i := range n {
		s.at.Devices = append(s.at.Devices, kernels.Device{Kind: "cpu", Index: i})
	}
	s.at.Strategy = s
	s.at.Connect = func() ([]kernels.Communicator, error) {
		backend, err := kernels.Lookup("cpu")
		if err != nil || n == 1 {
			return make([]kernels.Communicator, n), err
		}
		return backend.NewCommunicators(context.Background(), kernels.CommunicatorOptions{Devices: s.at.Devices})
	}
	s.at.ConnectOwn = s.at.Connect
	return s
}

// Functions, variables and replicas need of a strategy what its placement says.
func ExamplePlacement() {
	s := newPlaced(2)
	sum := NewFunction(s, "sum", func(r *Replica, in []*ops.Tensor) []*ops.Tensor {
		return r.AllReduce(ir.Sum, in[0])
	})
	defer sum.Close()
	fmt.Println(s, s.Placement().Split(5))
	one, err := kernels.FromFloat64s(ir.Float32, ir.Shape{1}, []float64{3})
	if err != nil {
		panic(err)
	}
	out, err := sum.RunBatch(context.Background(), PerReplicaBatch{{X: []kernels.Array{one}}, {X: []kernels.Array{one}}})
	if err != nil {
		panic(err)
	}
	fmt.Println(out[1].Element(0))
	// Output:
	// placed(cpu:0, cpu:1) [3 2]
	// 6
}

// A variable that is used before anybody placed it goes where its maker said.
func TestVariableFallsBack(t *testing.T) {
	s := newPlaced(1)
	v := NewVariable(VariableSpec{Name: "v", Shape: ir.Shape{2}, DType: ir.Float32}, func() Strategy { return s })
	require.Nil(t, v.Strategy())
	_, err := v.Value()
	require.NoError(t, err)
	require.Equal(t, Strategy(s), v.Strategy())
	require.ErrorContains(t, v.Place(newPlaced(2), 0), "belongs to placed(cpu:0)")
	c, err := v.Clone()
	require.NoError(t, err)
	require.Equal(t, Strategy(s), c.Strategy())
}

// Sets of communicators that were made before a change serve no more.
func TestRenewedPlacementConnectsAnew(t *testing.T) {
	s := newPlaced(2)
	made, connect := 0, s.at.Connect
	s.at.Connect = func() ([]kernels.Communicator, error) { made++; return connect() }
	f := NewFunction(s, "sum", func(r *Replica, in []*ops.Tensor) []*ops.Tensor { return r.AllReduce(ir.Sum, in[0]) })
	defer f.Close()
	x := kernels.NewArray(ir.Type{DType: ir.Float32, Shape: ir.Shape{1}})
	batch := PerReplicaBatch{{X: []kernels.Array{x}}, {X: []kernels.Array{x}}}
	for range 3 {
		_, err := f.RunBatch(t.Context(), batch)
		require.NoError(t, err)
	}
	require.Equal(t, 1, made)
	s.at.Renew()
	_, err := f.RunBatch(t.Context(), batch)
	require.NoError(t, err)
	require.Equal(t, 2, made)
}

// What a burst of goroutines needed at the same time is closed when runs are fewer.
func TestIdleInstancesAreGivenUp(t *testing.T) {
	f := NewFunction(newPlaced(1), "f", func(_ *Replica, in []*ops.Tensor) []*ops.Tensor { return []*ops.Tensor{ops.Exp(in[0])} })
	defer f.Close()
	types := [][]ir.Type{{{DType: ir.Float32, Shape: ir.Shape{2}}}}
	idle := func() []*Instance { return f.shapes.order.Front().Value.(*compiled).idle }
	burst := func(n int) {
		var out []*Instance
		for range n {
			inst, err := f.Acquire(types, []int{2})
			require.NoError(t, err)
			require.NoError(t, inst.Run(t.Context(), 0, 0))
			out = append(out, inst)
		}
		for _, inst := range out {
			f.Release(inst)
		}
	}
	burst(20)
	require.Len(t, idle(), 20)
	for range 4 * lookThrough / 20 { // what is needed again and again stays
		burst(20)
	}
	require.Len(t, idle(), 20)
	for range 2 * lookThrough {
		burst(1)
	}
	require.Len(t, idle(), 1)
	require.Zero(t, f.out)
}

// halves are initial values.
type halves struct{}

func (halves) Initialize(into kernels.Array, _ uint64) error {
	into.Fill(0.5)
	return nil
}

// An initial value is made where it stays: not beside it, nor in float64.
func TestInitialValuesAreMadeInPlace(t *testing.T) {
	for _, replicas := range []int{1, 2} {
		v := NewVariable(VariableSpec{Name: "v", Shape: ir.Shape{1 << 22}, DType: ir.Float32, Initializer: halves{}}, nil)
		require.NoError(t, v.Place(newPlaced(replicas), 0))
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		b, err := v.Buffer(replicas - 1)
		require.NoError(t, err)
		runtime.ReadMemStats(&after)
		require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(replicas*v.Type().Bytes()*5/4))
		last := make([]byte, v.Type().Bytes())
		require.NoError(t, b.Read(last))
		require.Equal(t, 0.5, ir.Element(last, ir.Float32, 1<<22-1))
	}
}
