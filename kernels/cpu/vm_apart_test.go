package cpu

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/cpu/internal/fuse"
	"github.com/gokeras/gokeras/kernels/cpu/internal/guard"
	"github.com/gokeras/gokeras/kernels/cpu/internal/plan"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/kernelstest"
	"github.com/gokeras/gokeras/kernels/reference"
)

// randomGroups returns a program that computes with columns of narrow matrices, or with elements that are a few places
// apart in vectors, and its inputs.
func randomGroups(seed uint64) (*ir.Program, []reference.Value) {
	rng := rand.New(rand.NewPCG(seed, 31))
	types := []ir.DType{ir.Float32, ir.Float32, ir.Float64, ir.Int32, ir.Int64, ir.BFloat16, ir.Float16, ir.Int16, ir.Uint8}
	n := []int{1, 7, 16, 33, 100, 1000, 5000}[rng.IntN(7)]
	s := &stacks{p: ir.New(fmt.Sprint("groups ", seed)), rng: rng, dtype: types[rng.IntN(len(types))], shape: ir.Shape{n}}
	for range 1 + rng.IntN(2) {
		width := 2 + rng.IntN(4)
		x := s.input(ir.Shape{n, width})
		flat := s.add(ir.Reshape, ir.ReshapeAttrs{Shape: ir.Shape{n * width}}, x)
		for range 2 + rng.IntN(4) {
			c := rng.IntN(width)
			column := s.add(ir.Slice, ir.SliceAttrs{Start: []int{0, c}, Limit: []int{n, c + 1}, Stride: []int{1, 1}}, x)
			v := s.add(ir.Reshape, ir.ReshapeAttrs{Shape: s.shape}, column)
			if rng.IntN(3) == 0 { // the same elements, of a vector
				v = s.add(ir.Slice, ir.SliceAttrs{Start: []int{c}, Limit: []int{(n-1)*width + c + 1}, Stride: []int{width}}, flat)
			}
			s.values = append(s.values, v)
		}
	}
	for range 2 + rng.IntN(8) {
		s.values = append(s.values, s.elementwise())
	}
	s.p.AddOutput("last", s.values[len(s.values)-1])
	rows := s.add(ir.Reshape, ir.ReshapeAttrs{Shape: ir.Shape{n, 1}}, s.pick())
	s.p.AddOutput("rows", s.add(ir.Concat, ir.AxisAttrs{Axis: 1}, rows, s.add(ir.Reshape, ir.ReshapeAttrs{Shape: ir.Shape{n, 1}}, s.elementwise())))
	return s.p, s.inputs
}

// takenApart returns how many groups the units of a program read this way.
func takenApart(t *testing.T, p *ir.Program) (n int) {
	q, err := pipelineFor(1).normal.Run(p)
	require.NoError(t, err)
	g := fuse.NewGraph(q)
	g.Group()
	pl := &placement{Placement: plan.Place(g, true)}
	for _, u := range g.Units {
		if len(u.Accesses) == 0 || u.Size == 0 {
			continue
		}
		b := newVMBuilder(pl, u)
		b.prog.block, b.prog.parts = 64, 1
		b.compileNodes()
		b.findApart()
		n += len(b.prog.apart)
	}
	return n
}

// TestGroupsApart compares units that read several elements of small groups with the reference.
func TestGroupsApart(t *testing.T) {
	apart := 0
	for seed := range uint64(100) {
		p, inputs := randomGroups(seed)
		apart += takenApart(t, p)
		want, err := reference.Run(p, inputs)
		require.NoError(t, err)
		for i, got := range runOnce(t, p, inputs, false) {
			if err := kernelstest.Compare(got, want[i], 0, true); err != nil {
				t.Fatalf("seed %d: output %d of %v: %v\n%v", seed, i, got.Type, err, p)
			}
		}
	}
	require.Greater(t, apart, 25)
}

// TestGroupsApartWithin reads nothing after the last element of the last group of a load, and nothing before the first.
func TestGroupsApartWithin(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	for range 300 {
		size, stride, n := 1<<rng.IntN(4), 2+rng.IntN(3), 1+rng.IntN(200)
		places := rng.Perm(stride)[:2+rng.IntN(stride-1)]
		low, high := slices.Min(places), slices.Max(places)
		data := make([]uint8, ((n-1)*stride+high-low+1)*size)
		for i := range data {
			data[i] = uint8(rng.Uint32())
		}
		data = guard.Copy(t, data, rng.IntN(2) == 0)
		mem := &plan.Storage{Ptr: unsafe.Add(unsafe.Pointer(&data[0]), -low*size)}
		b := &vmBuilder{}
		b.prog.block = n
		var ptrs [maxPointers]unsafe.Pointer
		got := map[int][]uint8{}
		for _, c := range places {
			r := b.newRegister(size)
			got[c] = guard.Copy(t, make([]uint8, n*size), false)
			ptrs[r.ptr] = unsafe.Pointer(&got[c][0])
			b.prog.each = append(b.prog.each, vmLoad{o: plan.Operand{Mem: mem, Off: c * size}, size: size, ptr: r.ptr, dims: []int{n}, strides: []int{stride * size}})
		}
		b.findApart()
		require.Len(t, b.prog.apart, 1)
		require.Empty(t, b.prog.each)
		spare := make([]uint8, 8*n)
		if len(places) < stride {
			ptrs[b.prog.apart[0].spare] = unsafe.Pointer(&spare[0])
		}
		first := rng.IntN(n)
		b.prog.apart[0].fill(&ptrs, first, n-first)
		for c, part := range got {
			for i := range n - first {
				require.Equal(t, data[((first+i)*stride+c-low)*size:][:size], part[i*size:][:size], "place %d of %v, stride %d, element %d from %d of %d", c, places, stride, i, first, n)
			}
		}
	}
}
