//go:build linux

package pjrt_test

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/kernelstest"
	"github.com/gokeras/gokeras/kernels/pjrt"
	"github.com/gokeras/gokeras/kernels/reference"
)

// drawnLayouts gives the inputs of a program random layouts that fit.
func drawnLayouts(rng *rand.Rand, p *ir.Program, mesh []int) [][]int {
	all := make([][]int, len(p.Inputs))
	for i, in := range p.Inputs {
		shape := p.Type(in.Value).Shape
		all[i] = make([]int, len(shape))
		for j := range shape {
			all[i][j] = -1
		}
		for _, axis := range rng.Perm(len(mesh)) {
			if len(shape) == 0 || rng.IntN(4) == 0 {
				continue
			}
			if j := rng.IntN(len(shape)); all[i][j] < 0 && shape[j]%mesh[axis] == 0 {
				all[i][j] = axis
			}
		}
	}
	return all
}

// drawnMesh makes a mesh of the plugin's devices that draws layouts from a seed.
func drawnMesh(t *testing.T, b *pjrt.Backend, shape []int, seed uint64) (kernels.Backend, kernels.Device) {
	t.Helper()
	places := 1
	for _, n := range shape {
		places *= n
	}
	var devices []kernels.Device
	for i := range places {
		devices = append(devices, kernels.Device{Kind: b.Kind(), Index: i})
	}
	d, err := b.NewMesh(kernels.MeshOptions{Devices: devices, Shape: shape, Layouts: func(p *ir.Program) ([][]int, error) {
		hash := fnv.New64a()
		hash.Write([]byte(p.Name))
		return drawnLayouts(rand.New(rand.NewPCG(seed, hash.Sum64())), p, shape), nil
	}})
	require.NoError(t, err)
	backend, err := kernels.Lookup(d.Kind)
	require.NoError(t, err)
	return backend, d
}

// runOnce runs a program.
func runOnce(t *testing.T, b kernels.Backend, d kernels.Device, p *ir.Program, inputs []reference.Value) ([]reference.Value, error) {
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

// meshCases is a case of each op. PJRT_CASES=2/8 is the second of eight parts of all cases.
func meshCases(b *pjrt.Backend) (cases []kernelstest.Case) {
	part, parts, seen := 0, 0, map[ir.Op]bool{}
	fmt.Sscanf(os.Getenv("PJRT_CASES"), "%d/%d", &part, &parts)
	for i, c := range kernelstest.Selected() {
		wanted := !seen[c.Op] && (!testing.Short() || i%8 == 0)
		seen[c.Op] = true
		if parts > 0 {
			wanted = i%parts == part-1
		}
		if wanted && kernels.CheckTypes(b.Kind(), c.Program, b.HasType) == nil {
			cases = append(cases, c)
		}
	}
	return cases
}

// Random programs, and a case of each op, whose inputs lie on the devices of a mesh in random ways, have the results of
// the reference: XLA divides them. PJRT_PROGRAMS is another number of programs.
func TestMeshPrograms(t *testing.T) {
	b := pjrt.New("drawn", plugin(t), pjrt.Option{Name: "cpu_device_count", Value: int64(6)})
	programs := uint64(20)
	if testing.Short() {
		programs = 3
	}
	if text := os.Getenv("PJRT_PROGRAMS"); text != "" {
		fmt.Sscan(text, &programs)
	}
	cases := meshCases(b)
	for seed := range programs {
		p, inputs := kernelstest.RandomProgram(seed)
		cases = append(cases, kernelstest.Case{Name: p.Name, Program: p, Inputs: inputs, Units: 1 << 13, Whole: true})
	}
	for i, shape := range [][]int{{2}, {2, 2}, {3, 2}} {
		backend, d := drawnMesh(t, b, shape, uint64(i))
		for _, c := range cases {
			want, err := reference.Run(c.Program, c.Inputs)
			require.NoError(t, err)
			got, err := runOnce(t, backend, d, c.Program, c.Inputs)
			if err != nil {
				t.Errorf("%s on %v: %v", c.Name, shape, err)
				continue
			}
			for k := range want {
				if err := kernelstest.Compare(got[k], want[k], 2*c.Units, c.Whole); err != nil {
					t.Errorf("%s on %v: output %d: %v", c.Name, shape, k, err)
				}
			}
		}
	}
}
