package exec

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
)

// shaped is a function of one input that counts how often it is traced.
type shaped struct {
	*Function
	traces int
}

func newShaped(t *testing.T, replicas int, compute func(x *ops.Tensor) *ops.Tensor) *shaped {
	s := &shaped{}
	s.Function = NewFunction(newPlaced(replicas), "shaped", func(_ *Replica, in []*ops.Tensor) []*ops.Tensor {
		s.traces++
		return []*ops.Tensor{compute(in[0])}
	})
	t.Cleanup(s.Close)
	return s
}

// with acquires an instance for numbers in rows of a length on each replica, calls use, and releases the instance.
func (s *shaped) with(t *testing.T, rows, length int, use func(inst *Instance)) {
	t.Helper()
	n := s.replicas()
	types, all := make([][]ir.Type, n), make([]int, n)
	for i := range n {
		types[i], all[i] = []ir.Type{{DType: ir.Float32, Shape: ir.Shape{rows, length}}}, rows
	}
	inst, err := s.Acquire(types, all)
	require.NoError(t, err)
	defer s.Release(inst)
	use(inst)
}

// Programs of many shapes stay, so that sequences of all lengths are compiled once. The least recently used go first.
func TestProgramsOfManyShapesStay(t *testing.T) {
	f := newShaped(t, 1, ops.Exp)
	use := func(length int) { f.with(t, 2, length, func(*Instance) {}) }
	for range 3 {
		for length := range mostShapes {
			use(1 + length)
		}
	}
	require.Equal(t, mostShapes, f.traces)
	use(mostShapes + 1) // takes the place of length 1
	use(2)
	require.Equal(t, mostShapes+1, f.traces)
	use(1)
	use(2)
	require.Equal(t, mostShapes+2, f.traces)
	require.Equal(t, mostShapes, f.shapes.order.Len())
	f.Close()
	require.Zero(t, f.shapes.order.Len())
	require.Empty(t, f.shapes.byKey)
	require.Zero(t, f.shapes.bytes)
	require.Zero(t, f.shapes.idle)
}

// Programs with large results are kept as long as there are few, or little memory is held.
func TestProgramsThatHoldMuchMemoryAreFew(t *testing.T) {
	f := newShaped(t, 1, ops.Exp)
	const rows = mostBytes / 40 / 4
	for length := range 100 {
		f.with(t, rows/(100+length), 100+length, func(*Instance) {})
	}
	require.InDelta(t, 20, f.shapes.order.Len(), 2, "inputs, of which the last batch may be alive, and results")
	require.LessOrEqual(t, f.shapes.bytes, mostBytes)
	for length := range 30 {
		f.with(t, 4*rows/(100+length), 100+length, func(*Instance) {})
	}
	require.Equal(t, leastShapes, f.shapes.order.Len())
}

// soloGroup is a group of one process.
type soloGroup struct{ WorkerGroup }

func (soloGroup) Rank() int { return 0 }
func (soloGroup) Size() int { return 1 }

func (soloGroup) AllGather(_ context.Context, _ WorkerCall, own []byte) ([][]byte, error) {
	return [][]byte{own}, nil
}

// Processes that run a function together trace at the same time, so what they keep must not depend on the memory that
// each needs for its part.
func TestProcessesKeepEquallyManyPrograms(t *testing.T) {
	f := newShaped(t, 1, ops.Exp)
	f.strategy.Placement().Group = soloGroup{}
	for _, rows := range []int{2, mostBytes / 300 / 4} {
		for length := range 2 * leastShapes {
			f.with(t, rows, 1+length, func(*Instance) {})
			require.LessOrEqual(t, f.shapes.order.Len(), leastShapes)
		}
		require.Equal(t, leastShapes, f.shapes.order.Len())
	}
}

// Instances of all shapes share memory for what they compute on the way: that of the largest serves all.
func TestShapesShareMemory(t *testing.T) {
	f := newShaped(t, 1, func(x *ops.Tensor) *ops.Tensor { return ops.Sum(ops.Matmul(ops.Transpose(x), x)) })
	for length := range 300 {
		f.with(t, 3, 1+length, func(inst *Instance) { require.NoError(t, inst.Run(t.Context(), 0, 0)) })
	}
	require.Len(t, f.lots.all, 1)
	require.Equal(t, 300, f.shapes.idle)
	require.Less(t, f.shapes.bytes, 300*(4+10*nodeBytes), "results of one number and a few nodes; the matrices have 90,000 numbers")
}

// Goroutines that use many shapes at the same time, on one replica and on several, get the results of those that are
// alone.
func TestManyShapesAtTheSameTime(t *testing.T) {
	for _, replicas := range []int{1, 2} {
		f := newShaped(t, replicas, func(x *ops.Tensor) *ops.Tensor {
			return ops.Sum(ops.Multiply(ops.Matmul(x, ops.Transpose(x)), ops.Matmul(x, ops.Transpose(ops.Exp(x)))))
		})
		alone := make([]float64, 60)
		result := func(length int) (x float64) {
			f.with(t, 1+length%5, 1+length, func(inst *Instance) {
				for replica := range replicas {
					var values []byte
					for i := range (1 + length%5) * (1 + length) {
						values = ir.AppendElement(values, ir.Float32, float64((i*7+length+replica)%11)/11-0.5)
					}
					require.NoError(t, inst.Input(replica, 0).Write(values))
				}
				require.NoError(t, inst.Run(t.Context(), 0, 0))
				for replica := range replicas {
					var b [4]byte
					require.NoError(t, inst.Output(replica, 0).Read(b[:]))
					x += ir.Element(b[:], ir.Float32, 0)
				}
			})
			return x
		}
		for length := range alone {
			alone[length] = result(length)
		}
		f.Close()
		var wait sync.WaitGroup
		for g := range 6 {
			wait.Add(1)
			go func() {
				defer wait.Done()
				r := rand.New(rand.NewPCG(uint64(g), 3))
				for range 200 {
					length := r.IntN(len(alone))
					if x := result(length); x != alone[length] {
						t.Errorf("%d replicas, length %d: %v, alone %v", replicas, length, x, alone[length])
					}
				}
			}()
		}
		wait.Wait()
		require.LessOrEqual(t, len(f.lots.all), 6)
		require.LessOrEqual(t, f.shapes.idle, 6*len(alone))
	}
}

// Inputs whose keys are equal by chance have programs of their own.
func TestShapesOfEqualKeys(t *testing.T) {
	var s shapeCache
	made := func(n int) (*compiled, [][]ir.Type) {
		types := [][]ir.Type{{{DType: ir.Float32, Shape: ir.Shape{n}}}}
		return &compiled{types: types, all: []int{1}}, types
	}
	var all []*compiled
	for n := range 4 {
		c, _ := made(n)
		s.add(7, c)
		all = append(all, c)
	}
	find := func(n int) *compiled {
		_, types := made(n)
		return s.find(7, types, []int{1}, 0, false)
	}
	for _, gone := range []int{-1, 2, 3, 0} {
		if gone >= 0 {
			s.remove(all[gone])
			all[gone] = nil
		}
		for n, c := range all {
			require.Same(t, c, find(n), fmt.Sprint(n))
		}
	}
	s.clear()
	require.Empty(t, s.byKey)
}
