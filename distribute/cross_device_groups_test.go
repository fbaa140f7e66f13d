package distribute_test

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/cpu"
	"github.com/gokeras/gokeras/kernels/ir"
)

// islands is the CPU under another name, in which devices whose numbers leave the same remainder by three are near
// each other.
type islands struct{ cpu.Backend }

var makeIslands = sync.OnceFunc(func() { kernels.Register(islands{}) })

func onCPU(d kernels.Device) kernels.Device { return kernels.Device{Kind: cpu.Kind, Index: d.Index} }

func (islands) Kind() string                  { return "islands" }
func (islands) Devices() []kernels.Device     { return nil }
func (b islands) Open(d kernels.Device) error { return b.Backend.Open(onCPU(d)) }
func (b islands) NewBuffer(d kernels.Device, t ir.Type) (kernels.Buffer, error) {
	return b.Backend.NewBuffer(onCPU(d), t)
}
func (b islands) NewBorrowingBuffer(d kernels.Device, t ir.Type) (kernels.Borrower, error) {
	return b.Backend.NewBorrowingBuffer(onCPU(d), t)
}
func (b islands) NewQueue(d kernels.Device) (kernels.Queue, error) {
	return b.Backend.NewQueue(onCPU(d))
}
func (b islands) Compile(p *ir.Program, o kernels.CompileOptions) (kernels.Executable, error) {
	o.Device = onCPU(o.Device)
	e, err := b.Backend.Compile(p, o)
	return islandExecutable{e}, err
}

type islandExecutable struct{ kernels.Executable }

func (e islandExecutable) NewSession(o kernels.SessionOptions) (kernels.Session, error) {
	o.Device = onCPU(o.Device)
	return e.Executable.NewSession(o)
}

func (islands) Groups(devices []kernels.Device) [][]int {
	var groups [3][]int
	for i, d := range devices {
		groups[d.Index%3] = append(groups[d.Index%3], i)
	}
	return slices.DeleteFunc(groups[:], func(g []int) bool { return g == nil })
}

// TestHierarchyFollowsTheMachine: values are combined among near devices first, whatever the order in which the
// strategy has them. In the last order the second of three islands is led by replica 3.
func TestHierarchyFollowsTheMachine(t *testing.T) {
	makeIslands()
	for _, order := range [][]int{{0, 1, 3, 4}, {4, 0, 3, 1, 6}, {7, 6, 4, 3, 1, 0, 10, 9}, {0, 3, 6, 1, 4, 2}} {
		names := make([]string, len(order))
		values := make(distribute.PerReplica, len(order))
		sums := map[int]float32{} // by island
		var islands []int         // in the order of their first replicas
		for i, index := range order {
			names[i] = fmt.Sprintf("islands:%d", index)
			v := float32(math.Pi) * float32(math.Pow(7, float64(i%5)))
			values[i] = array(t, ir.Float32, nil, float64(v))
			sums[index%3] += v // in the order of the replicas
			if !slices.Contains(islands, index%3) {
				islands = append(islands, index%3)
			}
		}
		want := float32(0)
		for _, island := range islands {
			want += sums[island]
		}
		s, err := distribute.NewMirroredStrategyWith(distribute.MirroredOptions{Devices: names, CrossDeviceOps: distribute.HierarchicalCopyAllReduce{}})
		require.NoError(t, err)
		f := distribute.NewNestFunction(s, func(r *distribute.Replica, args ...any) any { return sumOf(r, args[0]) })
		got, err := f.Run(context.Background(), values)
		require.NoError(t, err)
		for _, a := range got.(distribute.PerReplica) {
			require.Equal(t, want, float32(a.Element(0)), "%v", order)
		}
	}
}

func sumOf(r *distribute.Replica, x any) any { return r.AllReduce(ir.Sum, x.(*ops.Tensor))[0] }
