package parts

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/ir"
)

// The coordinates of devices count up in row-major order.
func TestCoordinate(t *testing.T) {
	m := Mesh{2, 3, 4}
	require.Equal(t, 24, m.Devices())
	device := 0
	for i := range 2 {
		for j := range 3 {
			for k := range 4 {
				require.Equal(t, []int{i, j, k}, []int{m.Coordinate(device, 0), m.Coordinate(device, 1), m.Coordinate(device, 2)})
				device++
			}
		}
	}
}

// Each element of random arrays lies where its indices say, in the part of every device that has it and in no other's,
// and pasting all parts gives the whole.
func TestParts(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 1))
	types := []ir.DType{ir.Int8, ir.Float16, ir.Float32, ir.Int64}
	for range 300 {
		m := []Mesh{{1}, {2}, {4}, {2, 2}, {2, 3}, {1, 4}, {2, 1, 3}}[rng.IntN(7)]
		whole := ir.Type{DType: types[rng.IntN(len(types))], Shape: ir.Shape{}}
		layout, axes := []int{}, rng.Perm(len(m))
		for range rng.IntN(4) {
			length, axis := rng.IntN(4), -1
			if len(axes) > 0 && rng.IntN(2) == 0 {
				axis, axes = axes[0], axes[1:]
				length *= m[axis]
			}
			whole.Shape, layout = append(whole.Shape, length), append(layout, axis)
		}
		kept, err := m.Layout("x", whole, layout)
		require.NoError(t, err)
		size := whole.DType.Size()
		data := make([]byte, whole.Bytes())
		for i := range data {
			data[i] = byte(rng.IntN(256))
		}
		got := make([]byte, len(data))
		for device := range m.Devices() {
			own := m.Part(whole, kept)
			part := make([]byte, own.Bytes())
			m.Cut(whole, kept, device, part, data)
			for i := range own.Shape.Size() { // the element of the part and its place in the whole, one by one
				place, stride, rest := 0, 1, i
				for axis := len(own.Shape) - 1; axis >= 0; axis-- {
					at := rest % own.Shape[axis]
					rest /= own.Shape[axis]
					if layout[axis] >= 0 {
						at += m.Coordinate(device, layout[axis]) * own.Shape[axis]
					}
					place += at * stride
					stride *= whole.Shape[axis]
				}
				require.Equal(t, data[place*size:(place+1)*size], part[i*size:(i+1)*size], "%v %v %v device %d element %d", m, whole, layout, device, i)
			}
			m.Paste(whole, kept, device, part, got)
		}
		require.Equal(t, data, got, "%v %v %v", m, whole, layout)
	}
}

func TestMistakes(t *testing.T) {
	require.ErrorContains(t, Mesh{2, 0}.Check(0), "expected positive numbers")
	require.ErrorContains(t, Mesh{2, 2}.Check(3), "expected as many devices as it has places")
	require.ErrorContains(t, Mesh{}.Check(1), "expected as many devices")
	require.NoError(t, Mesh{2, 2}.Check(4))
	x := ir.Type{DType: ir.Float32, Shape: ir.Shape{4, 3}}
	for _, c := range []struct {
		layout  []int
		message string
	}{
		{[]int{0}, "names 1 axes; it has the shape"}, {[]int{2, -1}, "can divide one axis"}, {[]int{0, 0}, "can divide one axis"},
		{[]int{-1, 0}, "axis 1 of x has length 3 and cannot be divided into 2 equal parts"},
	} {
		_, err := Mesh{2, 1}.Layout("x", x, c.layout)
		require.ErrorContains(t, err, c.message)
	}
	at, err := Mesh{2, 1}.Layout("x", x, []int{0, 1})
	require.NoError(t, err)
	require.Equal(t, []int{0, -1}, at, "an axis with one device divides nothing")
	require.True(t, Divided(at))
	at, err = Mesh{2, 1}.Layout("x", x, nil)
	require.NoError(t, err)
	require.False(t, Divided(at))
}
