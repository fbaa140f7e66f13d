package partition_test

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/cpu"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/kernelstest"
	"github.com/gokeras/gokeras/kernels/partition"
	"github.com/gokeras/gokeras/kernels/reference"
)

// drawn gives the inputs of a program random layouts that fit.
func drawn(rng *rand.Rand, p *ir.Program, mesh []int) [][]int {
	all := make([][]int, len(p.Inputs))
	for i, in := range p.Inputs {
		shape := p.Type(in.Value).Shape
		l := make([]int, len(shape))
		for j := range l {
			l[j] = -1
		}
		for _, axis := range rng.Perm(len(mesh)) {
			if len(l) == 0 || rng.IntN(4) == 0 {
				continue
			}
			if j := rng.IntN(len(l)); l[j] < 0 && shape[j]%mesh[axis] == 0 {
				l[j] = axis
			}
		}
		all[i] = l
	}
	return all
}

// onMesh makes a mesh of CPUs that draws layouts from a seed.
func onMesh(t *testing.T, shape []int, seed uint64) (*partition.Backend, kernels.Device) {
	t.Helper()
	b, err := partition.For(cpu.Backend{})
	require.NoError(t, err)
	var devices []kernels.Device
	n := 1
	for _, size := range shape {
		n *= size
	}
	for i := range n {
		devices = append(devices, kernels.Device{Kind: cpu.Kind, Index: i})
	}
	d, err := b.NewMesh(kernels.MeshOptions{Devices: devices, Shape: shape, Layouts: func(p *ir.Program) ([][]int, error) {
		hash := fnv.New64a()
		hash.Write([]byte(p.Name))
		return drawn(rand.New(rand.NewPCG(seed, hash.Sum64())), p, shape), nil
	}})
	require.NoError(t, err)
	return b, d
}

// run runs a program once.
func run(t *testing.T, b kernels.Backend, d kernels.Device, p *ir.Program, inputs []reference.Value) ([]reference.Value, error) {
	l, err := kernels.Load(b, p, d)
	if err != nil {
		return nil, err
	}
	defer l.Close()
	launch := kernels.Launch{}
	for i, in := range p.Inputs {
		x, err := b.NewBuffer(d, p.Type(in.Value))
		require.NoError(t, err)
		defer x.Free()
		require.NoError(t, x.Write(inputs[i].Bytes()))
		launch.Inputs = append(launch.Inputs, x)
	}
	for _, out := range p.Outputs {
		if out.Alias >= 0 {
			launch.Outputs = append(launch.Outputs, nil)
			continue
		}
		y, err := b.NewBuffer(d, p.Type(out.Value))
		require.NoError(t, err)
		defer y.Free()
		launch.Outputs = append(launch.Outputs, y)
	}
	if err := l.Session.Launch(t.Context(), launch).Wait(t.Context()); err != nil {
		return nil, err
	}
	var results []reference.Value
	for i, out := range p.Outputs {
		y := launch.Outputs[i]
		if out.Alias >= 0 {
			y = launch.Inputs[out.Alias]
		}
		data := make([]byte, y.Type().Bytes())
		require.NoError(t, y.Read(data))
		v, err := reference.FromBytes(p.Type(out.Value), data)
		require.NoError(t, err)
		results = append(results, v)
	}
	return results, nil
}

var meshes = [][]int{{2}, {2, 2}, {3, 2}}

// Every case of the backends' suite, its inputs divided at random, has the results of the reference.
func TestCases(t *testing.T) {
	for i, shape := range meshes {
		t.Run(fmt.Sprint(shape), func(t *testing.T) {
			for seed := range uint64(2) {
				b, d := onMesh(t, shape, seed)
				for j, c := range kernelstest.Selected() {
					if testing.Short() && j%3 != i {
						continue
					}
					want, err := reference.Run(c.Program, c.Inputs)
					require.NoError(t, err)
					got, err := run(t, b, d, c.Program, c.Inputs)
					if err != nil {
						t.Errorf("%s: %v", c.Name, err)
						continue
					}
					for k := range want {
						if err := kernelstest.Compare(got[k], want[k], 2*c.Units, c.Whole); err != nil {
							t.Errorf("%s: output %d: %v", c.Name, k, err)
						}
					}
				}
			}
		})
	}
}

// Random programs, their inputs divided at random.
func TestRandomPrograms(t *testing.T) {
	n := uint64(60)
	if testing.Short() {
		n = 20
	}
	if os.Getenv("PARTITION_PROGRAMS") != "" {
		fmt.Sscan(os.Getenv("PARTITION_PROGRAMS"), &n)
	}
	for _, shape := range meshes {
		b, d := onMesh(t, shape, 7)
		for seed := range n {
			p, inputs := kernelstest.RandomProgram(seed)
			want, err := reference.Run(p, inputs)
			require.NoError(t, err)
			got, err := run(t, b, d, p, inputs)
			require.NoError(t, err, "seed %d on %v", seed, shape)
			for k := range want {
				require.NoError(t, kernelstest.Compare(got[k], want[k], 1<<14, true), "seed %d on %v, output %d", seed, shape, k)
			}
		}
	}
}

// Mistakes are errors that name the input, and leave nothing behind.
func TestMistakes(t *testing.T) {
	b, d := onMesh(t, []int{2}, 1)
	require.NoError(t, b.Open(d))
	require.ErrorContains(t, b.Open(kernels.Device{Kind: d.Kind, Index: 1 << 20}), "there is no mesh")
	two := []kernels.Device{{Kind: cpu.Kind}, {Kind: cpu.Kind, Index: 1}}
	layouts := func(*ir.Program) ([][]int, error) { return nil, nil }
	for _, c := range []struct {
		o       kernels.MeshOptions
		message string
	}{
		{kernels.MeshOptions{Devices: two, Shape: []int{2}}, "a mesh without layouts"},
		{kernels.MeshOptions{Devices: two, Shape: []int{3}, Layouts: layouts}, "expected as many devices as it has places"},
		{kernels.MeshOptions{Devices: two, Shape: []int{0}, Layouts: layouts}, "expected positive numbers"},
		{kernels.MeshOptions{Devices: []kernels.Device{two[0], two[0]}, Shape: []int{2}, Layouts: layouts}, "is in the mesh twice"},
		{kernels.MeshOptions{Devices: []kernels.Device{{Kind: "gpu"}}, Shape: []int{1}, Layouts: layouts}, `is not one of kind "cpu"`},
	} {
		_, err := b.NewMesh(c.o)
		require.ErrorContains(t, err, c.message)
	}
	p := ir.New("p")
	p.AddOutput("y", p.AddInput("dense/kernel", ir.Type{DType: ir.Float32, Shape: ir.Shape{4, 4}}))
	for message, l := range map[string][]int{
		"the layout of dense/kernel names 1 axes; it has the shape [4 4]": {0},
		"each axis of a mesh of shape [2] can divide one axis":            {0, 0},
		"the layout [3 -1] of dense/kernel":                               {3, -1},
	} {
		_, err := partition.Program(p, []int{2}, [][]int{l})
		require.ErrorContains(t, err, message)
	}
	_, err := partition.Program(p, []int{2}, nil)
	require.ErrorContains(t, err, "has 1 inputs, received layouts for 0")
	_, err = b.NewCommunicators(t.Context(), kernels.CommunicatorOptions{})
	require.ErrorContains(t, err, "make one mesh of all devices")
	_, err = b.Compile(p, kernels.CompileOptions{Device: d, Replicas: 2})
	require.ErrorContains(t, err, "a mesh is one")
}

// A device that fails ends the waiting of the others; the next launch works.
func TestFailure(t *testing.T) {
	p := ir.New("rows")
	table := p.AddInput("table", ir.Type{DType: ir.Float32, Shape: ir.Shape{4, 2}})
	at := p.AddInput("at", ir.Type{DType: ir.Int32, Shape: ir.Shape{2}})
	rows := must(p.Add("layer", ir.Embedding, nil, table, at))
	p.AddAlias("table", must(p.Add("layer", ir.EmbeddingGrad, nil, table, at, rows[0]))[0], 0)
	b, err := partition.For(cpu.Backend{})
	require.NoError(t, err)
	d, err := b.NewMesh(kernels.MeshOptions{Devices: []kernels.Device{{Kind: cpu.Kind}, {Kind: cpu.Kind, Index: 1}}, Shape: []int{2}, Layouts: func(*ir.Program) ([][]int, error) { return [][]int{nil, {0}}, nil }})
	require.NoError(t, err)
	value := func(d ir.DType, shape ir.Shape, x ...float64) reference.Value {
		v, err := reference.New(d, shape, x...)
		require.NoError(t, err)
		return v
	}
	numbers := value(ir.Float32, ir.Shape{4, 2}, 1, 2, 3, 4, 5, 6, 7, 8)
	for range 3 {
		_, err = run(t, b, d, p, []reference.Value{numbers, value(ir.Int32, ir.Shape{2}, 1, 7)})
		require.ErrorContains(t, err, "index 7")
		require.ErrorContains(t, err, "layer")
		got, err := run(t, b, d, p, []reference.Value{numbers, value(ir.Int32, ir.Shape{2}, 1, 3)})
		require.NoError(t, err)
		require.Equal(t, value(ir.Float32, ir.Shape{4, 2}, 0, 0, 3, 4, 0, 0, 7, 8).Bytes(), got[0].Bytes())
	}
}

func must(v []ir.Value, err error) []ir.Value {
	if err != nil {
		panic(err)
	}
	return v
}
