// Package parts is the arithmetic of arrays that lie in equal parts on a mesh of devices. A layout has, for each axis
// of an array, the axis of the mesh along which it is divided, or -1; nil is a full copy on every device. Devices are
// numbered in row-major order of the mesh.
package parts

import (
	"fmt"
	"slices"

	"github.com/gokeras/gokeras/kernels/ir"
)

// Mesh is the number of devices along each axis.
type Mesh []int

// Check reports that a mesh does not have as many places as there are devices.
func (m Mesh) Check(devices int) error {
	if slices.ContainsFunc(m, func(n int) bool { return n < 1 }) {
		return fmt.Errorf("a mesh of shape %v; expected positive numbers", []int(m))
	}
	if len(m) == 0 || m.Devices() != devices {
		return fmt.Errorf("a mesh of shape %v with %d devices; expected as many devices as it has places", []int(m), devices)
	}
	return nil
}

// Devices is the number of places.
func (m Mesh) Devices() int {
	n := 1
	for _, size := range m {
		n *= size
	}
	return n
}

// Coordinate is the place of a device along an axis.
func (m Mesh) Coordinate(device, axis int) int {
	for _, n := range m[axis+1:] {
		device /= n
	}
	return device % m[axis]
}

// Layout checks that an array can be divided as a layout says, and returns the layout without what divides nothing:
// axes of the mesh that have one device.
func (m Mesh) Layout(name string, t ir.Type, layout []int) ([]int, error) {
	at := slices.Repeat([]int{-1}, len(t.Shape))
	if layout == nil {
		return at, nil
	}
	if len(layout) != len(t.Shape) {
		return nil, fmt.Errorf("the layout of %s names %d axes; it has the shape %v", name, len(layout), t.Shape)
	}
	for i, axis := range layout {
		switch {
		case axis < 0:
			continue
		case axis >= len(m) || slices.Contains(layout[:i], axis):
			return nil, fmt.Errorf("the layout %v of %s: each axis of a mesh of shape %v can divide one axis", layout, name, []int(m))
		case t.Shape[i]%m[axis] != 0:
			return nil, fmt.Errorf("axis %d of %s has length %d and cannot be divided into %d equal parts; leave that axis whole in its layout, or choose a mesh whose axis divides the length", i, name, t.Shape[i], m[axis])
		case m[axis] > 1:
			at[i] = axis
		}
	}
	return at, nil
}

// Fit is where a value of a program lies that was given a layout for the mesh: an axis whose length does not divide
// stays whole, as the axis of examples does in a short batch. A layout for another mesh is an error.
func (m Mesh) Fit(a ir.LayoutAttrs, t ir.Type) ([]int, error) {
	if !slices.Equal(a.Mesh, m) {
		return nil, fmt.Errorf("a layout for a mesh of shape %v in a program for one of shape %v; use the mesh of the model's distribution", a.Mesh, []int(m))
	}
	at := slices.Clone(a.Axes)
	for i, axis := range at {
		if axis >= 0 && (m[axis] == 1 || t.Shape[i]%m[axis] != 0) {
			at[i] = -1
		}
	}
	return at, nil
}

// Divided reports whether a layout divides anything.
func Divided(layout []int) bool {
	return slices.ContainsFunc(layout, func(axis int) bool { return axis >= 0 })
}

// Part is the type of what each device has.
func (m Mesh) Part(t ir.Type, layout []int) ir.Type {
	shape := t.Shape.Clone()
	for i, axis := range layout {
		if axis >= 0 {
			shape[i] /= m[axis]
		}
	}
	return ir.Type{DType: t.DType, Shape: shape}
}

// Rows calls f for each run of bytes that a device's part and the whole array share: n bytes at place inPart of the
// part and inWhole of the array.
func (m Mesh) Rows(t ir.Type, layout []int, device int, f func(inPart, inWhole, n int)) {
	part, size := m.Part(t, layout).Shape, t.DType.Size()
	if part.Size() == 0 {
		return
	}
	first, last := make([]int, len(part)), -1 // of the part in the whole; the last axis that is divided
	for i, axis := range layout {
		if axis >= 0 {
			first[i], last = m.Coordinate(device, axis)*part[i], i
		}
	}
	if last < 0 {
		f(0, 0, part.Size()*size)
		return
	}
	inner := part[last+1:].Size() * size // bytes of what lies within one element of the last divided axis
	run := part[last] * inner
	for line := range part[:last].Size() {
		place, rest, stride := first[last], line, t.Shape[last]
		for i := last - 1; i >= 0; i-- {
			place += (first[i] + rest%part[i]) * stride
			stride *= t.Shape[i]
			rest /= part[i]
		}
		f(line*run, place*inner, run)
	}
}

// Covered reports whether some devices have all parts of an array.
func (m Mesh) Covered(layout []int, devices []int) bool {
	parts, seen := 1, map[string]bool{}
	for _, axis := range layout {
		if axis >= 0 {
			parts *= m[axis]
		}
	}
	for _, device := range devices {
		part := ""
		for _, axis := range layout {
			if axis >= 0 {
				part += fmt.Sprint(m.Coordinate(device, axis), " ")
			}
		}
		seen[part] = true
	}
	return len(seen) == parts
}

// Cut copies a device's part out of the whole array.
func (m Mesh) Cut(t ir.Type, layout []int, device int, part, whole []byte) {
	m.Rows(t, layout, device, func(inPart, inWhole, n int) { copy(part[inPart:inPart+n], whole[inWhole:]) })
}

// Paste copies a device's part into the whole array.
func (m Mesh) Paste(t ir.Type, layout []int, device int, part, whole []byte) {
	m.Rows(t, layout, device, func(inPart, inWhole, n int) { copy(whole[inWhole:inWhole+n], part[inPart:]) })
}
