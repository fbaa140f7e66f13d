//go:build linux

package pjrt_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/kernelstest"
	"github.com/gokeras/gokeras/kernels/pjrt"
	"github.com/gokeras/gokeras/kernels/reference"
)

// drawing is a program of one op whose operands have axes that meshes divide, and their contents: small whole numbers,
// so that sums have no rounding whatever their order.
type drawing struct {
	t       *testing.T
	rng     *rand.Rand
	program *ir.Program
	inputs  []reference.Value
}

// length is that of an axis, which 2, 3 and 4 devices divide, or some of them, or none.
func (d *drawing) length() int { return []int{4, 6, 8, 12, 12, 5}[d.rng.IntN(6)] }

func (d *drawing) shape(rank int) ir.Shape {
	s := make(ir.Shape, rank)
	for i := range s {
		s[i] = d.length()
	}
	return s
}

// input adds one with numbers from low up to high.
func (d *drawing) input(dtype ir.DType, low, high int, shape ...int) ir.Value {
	typ := ir.Type{DType: dtype, Shape: shape}
	data := []byte{}
	for range typ.Shape.Size() {
		n := low + d.rng.IntN(high-low)
		if dtype == ir.Float32 {
			data = binary.LittleEndian.AppendUint32(data, math.Float32bits(float32(n)))
		} else {
			data = binary.LittleEndian.AppendUint32(data, uint32(int32(n)))
		}
	}
	v, err := reference.FromBytes(typ, data)
	require.NoError(d.t, err)
	d.inputs = append(d.inputs, v)
	return d.program.AddInput(fmt.Sprint("x", len(d.inputs)), typ)
}

func (d *drawing) floats(shape ...int) ir.Value { return d.input(ir.Float32, -8, 9, shape...) }

func (d *drawing) op(op ir.Op, a ir.Attrs, in ...ir.Value) []ir.Value {
	out, err := d.program.Add("layer", op, a, in...)
	require.NoError(d.t, err, "%v %+v", op, a)
	return out
}

// drawers write one op with random attributes over random operands.
var drawers = map[string]func(d *drawing) []ir.Value{
	"gather": func(d *drawing) []ir.Value {
		s := d.shape(1 + d.rng.IntN(3))
		axis := d.rng.IntN(len(s))
		mode := []ir.IndexMode{ir.IndexError, ir.IndexClip, ir.IndexDrop}[d.rng.IntN(3)]
		low, high := -3, s[axis]+3
		if mode == ir.IndexError {
			low, high = 0, s[axis]
		}
		return d.op(ir.Gather, ir.GatherAttrs{Axis: axis, Mode: mode}, d.floats(s...), d.input(ir.Int32, low, high, d.shape(1+d.rng.IntN(2))...))
	},
	"scatter": func(d *drawing) []ir.Value {
		s, where := d.shape(1+d.rng.IntN(3)), d.shape(1+d.rng.IntN(2))
		axis := d.rng.IntN(len(s))
		kind := []ir.Kind{ir.Sum, ir.Max, ir.Min, ir.Set}[d.rng.IntN(4)]
		mode := []ir.IndexMode{ir.IndexError, ir.IndexClip, ir.IndexDrop}[d.rng.IntN(3)]
		low, high := -3, s[axis]+3
		if mode == ir.IndexError {
			low, high = 0, s[axis]
		}
		updates := append(append(s[:axis:axis], where...), s[axis+1:]...)
		return d.op(ir.Scatter, ir.ScatterAttrs{Axis: axis, Kind: kind, Mode: mode}, d.floats(s...), d.input(ir.Int32, low, high, where...), d.floats(updates...))
	},
	"sort": func(d *drawing) []ir.Value {
		s := d.shape(1 + d.rng.IntN(3))
		return d.op(ir.Sort, ir.SortAttrs{Axis: d.rng.IntN(len(s)), Descending: d.rng.IntN(2) == 0}, d.floats(s...))
	},
	"top k": func(d *drawing) []ir.Value {
		s := d.shape(1 + d.rng.IntN(3))
		return d.op(ir.TopK, ir.TopKAttrs{K: 1 + d.rng.IntN(s[len(s)-1])}, d.floats(s...))
	},
	"arg max": func(d *drawing) []ir.Value {
		s := d.shape(1 + d.rng.IntN(3))
		return d.op([]ir.Op{ir.ArgMax, ir.ArgMin}[d.rng.IntN(2)], ir.AxisAttrs{Axis: d.rng.IntN(len(s))}, d.floats(s...))
	},
	"cumulative": func(d *drawing) []ir.Value {
		s := d.shape(1 + d.rng.IntN(3))
		return d.op(ir.Cumulative, ir.CumulativeAttrs{Kind: []ir.Kind{ir.Sum, ir.Max, ir.Min}[d.rng.IntN(3)], Axis: d.rng.IntN(len(s)), Reverse: d.rng.IntN(2) == 0, Exclusive: d.rng.IntN(2) == 0}, d.floats(s...))
	},
	"dynamic slice": func(d *drawing) []ir.Value {
		s := d.shape(1 + d.rng.IntN(3))
		in, sizes := []ir.Value{d.floats(s...)}, s.Clone()
		for i := range s {
			sizes[i] = 1 + d.rng.IntN(s[i])
			in = append(in, d.input(ir.Int32, -4, s[i]+4))
		}
		return d.op(ir.DynamicSlice, ir.DynamicSliceAttrs{Sizes: sizes}, in...)
	},
	"dynamic update": func(d *drawing) []ir.Value {
		s := d.shape(1 + d.rng.IntN(3))
		sizes := s.Clone()
		for i := range s {
			sizes[i] = 1 + d.rng.IntN(s[i])
		}
		in := []ir.Value{d.floats(s...), d.floats(sizes...)}
		for i := range s {
			in = append(in, d.input(ir.Int32, -4, s[i]+4))
		}
		return d.op(ir.DynamicUpdateSlice, nil, in...)
	},
	"pad": func(d *drawing) []ir.Value {
		s := d.shape(1 + d.rng.IntN(3))
		a := ir.PadAttrs{Low: make([]int, len(s)), High: make([]int, len(s)), Interior: make([]int, len(s))}
		for i := range s {
			a.Low[i], a.High[i], a.Interior[i] = d.rng.IntN(5)-2, d.rng.IntN(5)-2, d.rng.IntN(3)
		}
		return d.op(ir.Pad, a, d.floats(s...), d.floats())
	},
	"slice": func(d *drawing) []ir.Value {
		s := d.shape(1 + d.rng.IntN(3))
		a := ir.SliceAttrs{Start: make([]int, len(s)), Limit: make([]int, len(s)), Stride: make([]int, len(s))}
		for i := range s {
			a.Start[i] = d.rng.IntN(s[i])
			a.Limit[i], a.Stride[i] = a.Start[i]+1+d.rng.IntN(s[i]-a.Start[i]), 1+d.rng.IntN(3)
		}
		return d.op(ir.Slice, a, d.floats(s...))
	},
	"concat": func(d *drawing) []ir.Value {
		s := d.shape(1 + d.rng.IntN(3))
		axis, other := d.rng.IntN(len(s)), s.Clone()
		other[axis] = d.length()
		return d.op(ir.Concat, ir.AxisAttrs{Axis: axis}, d.floats(s...), d.floats(other...), d.floats(s...))
	},
	"reverse": func(d *drawing) []ir.Value {
		s := d.shape(1 + d.rng.IntN(3))
		return d.op(ir.Reverse, ir.AxesAttrs{Axes: []int{d.rng.IntN(len(s))}}, d.floats(s...))
	},
	"reshape": func(d *drawing) []ir.Value {
		s := d.shape(2 + d.rng.IntN(2))
		to := append(ir.Shape{s[0] * s[1]}, s[2:]...)
		if d.rng.IntN(2) == 0 && s[len(s)-1]%2 == 0 {
			to = append(append(s[:len(s)-1:len(s)-1], 2), s[len(s)-1]/2)
		}
		return d.op(ir.Reshape, ir.ReshapeAttrs{Shape: to}, d.floats(s...))
	},
	"reduce": func(d *drawing) []ir.Value {
		s := d.shape(1 + d.rng.IntN(3))
		axes := d.rng.Perm(len(s))[:1+d.rng.IntN(len(s))]
		slices.Sort(axes)
		return d.op(ir.Reduce, ir.ReduceAttrs{Kind: []ir.Kind{ir.Sum, ir.Max, ir.Min}[d.rng.IntN(3)], Axes: axes}, d.floats(s...))
	},
	"dot": func(d *drawing) []ir.Value {
		m, k, n, b := d.length(), d.length(), d.length(), d.length()
		return d.op(ir.Dot, ir.DotAttrs{LhsBatch: []int{0}, RhsBatch: []int{2}, LhsContract: []int{2}, RhsContract: []int{0}}, d.floats(b, m, k), d.floats(k, n, b))
	},
	"resample": func(d *drawing) []ir.Value {
		s := d.shape(1 + d.rng.IntN(3))
		a := ir.ResampleAttrs{Axis: d.rng.IntN(len(s)), Taps: 1 + d.rng.IntN(3)}
		for range d.length() * a.Taps {
			a.Cells, a.Weights = append(a.Cells, d.rng.IntN(s[a.Axis])), append(a.Weights, float64(d.rng.IntN(5)))
		}
		return d.op(ir.Resample, a, d.floats(s...))
	},
	"scan": func(d *drawing) []ir.Value {
		rows, length := d.length(), d.length()
		body := ir.New("body")
		carry, x := body.AddInput("carry", ir.Type{DType: ir.Float32, Shape: ir.Shape{rows}}), body.AddInput("x", ir.Type{DType: ir.Float32, Shape: ir.Shape{rows}})
		next := must(body.Add("step", ir.Add, nil, carry, x))[0]
		top := must(body.Add("step", ir.Maximum, nil, carry, x))[0]
		body.AddOutput("next", next)
		body.AddOutput("top", top)
		return d.op(ir.Scan, ir.ScanAttrs{Body: body, Length: length, Carry: 1, Xs: 1, Reverse: d.rng.IntN(2) == 0}, d.floats(rows), d.floats(length, rows))
	},
}

// Operations with random attributes on operands of random shapes, which lie on meshes in random ways, have the results
// of the reference: what XLA's partitioners get wrong must not reach a model. PJRT_DRAWINGS is another number of them.
func TestMeshOps(t *testing.T) {
	b := pjrt.New("sketched", plugin(t), pjrt.Option{Name: "cpu_device_count", Value: int64(6)})
	drawings := uint64(3)
	if testing.Short() {
		drawings = 1
	}
	if text := os.Getenv("PJRT_DRAWINGS"); text != "" {
		fmt.Sscan(text, &drawings)
	}
	for i, shape := range [][]int{{2, 2}, {4, 1}, {3, 2}} {
		for seed := range drawings {
			backend, device := drawnMesh(t, b, shape, seed+100*uint64(i))
			for name, draw := range drawers {
				d := &drawing{t: t, rng: rand.New(rand.NewPCG(seed, uint64(i))), program: ir.New(fmt.Sprint(name, " ", seed))}
				out := draw(d)
				for j, v := range out {
					d.program.AddOutput(fmt.Sprint("y", j), v)
				}
				want, err := reference.Run(d.program, d.inputs)
				require.NoError(t, err, name)
				got, err := runOnce(t, backend, device, d.program, d.inputs)
				if err != nil {
					t.Errorf("%s %d on %v: %v\n%v", name, seed, shape, err, d.program)
					continue
				}
				for k := range want {
					if err := kernelstest.Compare(got[k], want[k], 4, true); err != nil {
						t.Errorf("%s %d on %v: output %d: %v\n%v", name, seed, shape, k, err, d.program)
					}
				}
			}
		}
	}
}

// An index that is outside is reported by a program whose indices lie in parts: the first one, of the first check.
func TestMeshIndexErrors(t *testing.T) {
	b := pjrt.New("outside", plugin(t), pjrt.Option{Name: "cpu_device_count", Value: int64(4)})
	layouts := uint64(2)
	if testing.Short() {
		layouts = 1
	}
	for seed := range layouts {
		backend, device := drawnMesh(t, b, []int{2, 2}, seed)
		for _, c := range []struct {
			first, second, at int // indices of two lookups that are wrong at a place, or 0
			message           string
		}{
			{9, 0, 5, "index 9 is outside axis 0 of length 8"}, {0, -1, 3, "index -1 is outside axis 0 of length 4"}, {-7, 8, 7, "index -7 is outside axis 0 of length 8"}, {0, 0, 0, ""},
		} {
			d := &drawing{t: t, rng: rand.New(rand.NewPCG(seed, 1)), program: ir.New(fmt.Sprint("outside ", seed))}
			table := d.floats(8, 4)
			ids, others := d.input(ir.Int32, 0, 4, 4, 2), d.input(ir.Int32, 0, 4, 4, 2)
			for i, n := range []int{c.first, c.second} {
				if n != 0 {
					data := d.inputs[1+i].Bytes()
					binary.LittleEndian.PutUint32(data[4*c.at:], uint32(int32(n)))
					v, err := reference.FromBytes(d.inputs[1+i].Type, data)
					require.NoError(t, err)
					d.inputs[1+i] = v
				}
			}
			x := d.op(ir.Gather, ir.GatherAttrs{}, table, ids)[0]
			d.program.AddOutput("x", x)
			y := d.op(ir.Slice, ir.SliceAttrs{Start: []int{0, 0}, Limit: []int{4, 4}, Stride: []int{1, 1}}, table)[0]
			d.program.AddOutput("y", d.op(ir.Gather, ir.GatherAttrs{}, y, others)[0])
			_, err := runOnce(t, backend, device, d.program, d.inputs)
			if c.message == "" {
				require.NoError(t, err)
			} else {
				require.ErrorContains(t, err, c.message)
			}
		}
	}
}
