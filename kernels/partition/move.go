package partition

import (
	"fmt"
	"slices"

	"github.com/gokeras/gokeras/kernels/ir"
)

// place brings a value into another layout: devices fetch the parts that they lack, and cut out the parts that they
// keep.
func (s *spreader) place(v value, want layout) value {
	if slices.Equal(v.at, want) {
		return v
	}
	key := fmt.Sprint(v.id, want)
	if m, ok := s.moved[key]; ok {
		return m
	}
	m := s.move(v, want)
	s.moved[key] = m
	return m
}

func (s *spreader) move(v value, want layout) value {
	if v.spread != nil {
		return s.broadcast(v, want)
	}
	free := slices.Clone(v.at) // cut first, so that less is fetched
	for i, axis := range want {
		if axis >= 0 && free[i] < 0 && !slices.Contains(free, axis) {
			free[i] = axis
		}
	}
	v = s.cut(v, free)
	for i, axis := range v.at {
		if axis >= 0 && axis != want[i] {
			v = s.gather(v, i)
		}
	}
	return s.cut(v, want)
}

// broadcast makes a part of a broadcast by broadcasting a part of its operand.
func (s *spreader) broadcast(v value, want layout) value {
	at := whole(len(v.spread.at))
	for i, axis := range v.axes {
		if v.spread.of.Shape[i] == v.of.Shape[axis] {
			at[i] = want[axis]
		}
	}
	operand := s.place(*v.spread, at)
	id := s.add(ir.Broadcast, ir.BroadcastAttrs{Shape: s.part(v.of, want).Shape, Axes: v.axes}, operand.id)[0]
	return value{id: id, at: want, of: v.of, spread: v.spread, axes: v.axes}
}

// number is an int32 constant.
func (s *spreader) number(n int) ir.Value {
	if v, ok := s.numbers[int32(n)]; ok {
		return v
	}
	v := s.add(ir.Constant, ir.ConstantAttrs{Literal: ir.Scalar(ir.Int32, float64(n))})[0]
	s.numbers[int32(n)] = v
	return v
}

// coordinate is the device's position along an axis of the mesh.
func (s *spreader) coordinate(axis int) ir.Value {
	if v, ok := s.own[axis]; ok {
		return v
	}
	stride := 1
	for _, n := range s.mesh[axis+1:] {
		stride *= n
	}
	id := s.add(ir.ReplicaID, ir.CollectiveAttrs{Replicas: s.devices})[0]
	v := s.add(ir.Convert, ir.ConvertAttrs{DType: ir.Int32}, id)[0]
	v = s.add(ir.Rem, nil, s.add(ir.Div, nil, v, s.number(stride))[0], s.number(s.mesh[axis]))[0]
	s.own[axis] = v
	return v
}

// cut takes the device's part along axes that were whole.
func (s *spreader) cut(v value, want layout) value {
	if slices.Equal(v.at, want) {
		return v
	}
	sizes := s.part(v.of, want).Shape
	in := []ir.Value{v.id}
	for i, axis := range want {
		if axis < 0 || v.at[i] >= 0 {
			in = append(in, s.number(0))
			continue
		}
		in = append(in, s.add(ir.Mul, nil, s.coordinate(axis), s.number(sizes[i]))[0])
	}
	return value{id: s.add(ir.DynamicSlice, ir.DynamicSliceAttrs{Sizes: sizes}, in...)[0], at: slices.Clone(want), of: v.of}
}

// gather fetches the parts of the devices along axis i.
func (s *spreader) gather(v value, i int) value {
	axis := v.at[i]
	a := ir.CollectiveAttrs{Replicas: s.devices, Axis: i, Groups: s.alike(axis)}
	return value{id: s.add(ir.AllGather, a, v.id)[0], at: v.at.with(i, -1), of: v.of}
}

// alike groups the devices that differ only along the given axes of the mesh; nil is one group of all.
func (s *spreader) alike(axes ...int) [][]int {
	var groups [][]int
	index := map[string]int{}
	for device := range s.devices {
		var others []int
		for axis := range s.mesh {
			if !slices.Contains(axes, axis) {
				others = append(others, s.mesh.Coordinate(device, axis))
			}
		}
		key := fmt.Sprint(others)
		i, known := index[key]
		if !known {
			i = len(groups)
			index[key] = i
			groups = append(groups, nil)
		}
		groups[i] = append(groups[i], device)
	}
	if len(groups) == 1 {
		return nil
	}
	return groups
}

// combine sums the values that the devices along axes of the mesh have, or takes their maximum or minimum.
func (s *spreader) combine(kind ir.Kind, v value, axes []int) value {
	v.id = s.add(ir.AllReduce, ir.CollectiveAttrs{Kind: kind, Replicas: s.devices, Groups: s.alike(axes...)}, v.id)[0]
	return v
}

// reshape keeps an axis divided if, among the axes that are regrouped together, it is the first one with more than one
// element.
func (s *spreader) reshape(v value, t ir.Type) value {
	from, to := v.of.Shape, t.Shape
	keep, at := whole(len(from)), whole(len(to))
	for i, j := 0, 0; i < len(from) || j < len(to); {
		firstFrom, firstTo, a, b := i, j, 1, 1
		for { // axes i.. of the operand have as many elements as axes j.. of the result
			if i < len(from) && (a <= b || j == len(to)) {
				a *= from[i]
				i++
			} else if j < len(to) {
				b *= to[j]
				j++
			}
			if a == b || i == len(from) && j == len(to) {
				break
			}
		}
		lead := func(shape ir.Shape, first, end int) int {
			for first < end-1 && shape[first] == 1 {
				first++
			}
			return first
		}
		x, y := lead(from, firstFrom, i), lead(to, firstTo, j)
		if x < i && y < j && v.at[x] >= 0 && to[y]%s.mesh[v.at[x]] == 0 {
			keep[x], at[y] = v.at[x], v.at[x]
		}
	}
	v = s.place(v, keep)
	return value{id: s.add(ir.Reshape, ir.ReshapeAttrs{Shape: s.part(t, at).Shape}, v.id)[0], at: at, of: t}
}
