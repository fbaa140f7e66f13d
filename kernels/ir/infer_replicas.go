package ir

import (
	"fmt"
	"slices"

	"github.com/gokeras/gokeras/kernels/ir/dim"
)

func collective(attrs Attrs) (CollectiveAttrs, error) {
	a, ok := attrs.(CollectiveAttrs)
	if !ok {
		return a, wrongAttrs(attrs, a)
	}
	if a.Replicas < 1 {
		return a, fmt.Errorf("needs at least one replica, received %d", a.Replicas)
	}
	return a, a.checkGroups()
}

// checkGroups reports groups that are not all replicas, each once, in equal numbers.
func (a CollectiveAttrs) checkGroups() error {
	if a.Groups == nil {
		return nil
	}
	count := 0
	for _, group := range a.Groups {
		count += len(group)
	}
	if count != a.Replicas { // before allocating for that number
		return fmt.Errorf("groups of replicas %v; expected each of the replicas 0 to %d once", a.Groups, a.Replicas-1)
	}
	seen := make([]bool, a.Replicas)
	for _, group := range a.Groups {
		if len(group) == 0 || len(group) != len(a.Groups[0]) {
			return fmt.Errorf("groups of replicas %v; expected groups of one length", a.Groups)
		}
		for _, replica := range group {
			if replica < 0 || replica >= a.Replicas || seen[replica] {
				return fmt.Errorf("groups of replicas %v; expected each of the replicas 0 to %d once", a.Groups, a.Replicas-1)
			}
			seen[replica] = true
		}
	}
	return nil
}

func checkCollectiveKind(k Kind, in []Type) error {
	for i, t := range in {
		ok := k == Sum || k == Max || k == Min || k == Mean && t.DType.IsFloat()
		if !ok || t.DType == Bool {
			return fmt.Errorf("kind %q does not combine operand %d, %v, over replicas", k, i, t)
		}
	}
	return nil
}

func inferAllReduce(in []Type, attrs Attrs) ([]Type, error) {
	a, err := collective(attrs)
	if err != nil {
		return nil, err
	}
	return slices.Clone(in), checkCollectiveKind(a.Kind, in)
}

func inferAllGather(in []Type, attrs Attrs) ([]Type, error) {
	a, err := collective(attrs)
	if err != nil {
		return nil, err
	}
	if err := checkAxis(a.Axis, in[0].Shape); err != nil {
		return nil, err
	}
	out := in[0].Shape.Clone()
	out[a.Axis] = dim.Mul(out[a.Axis], a.Size())
	return []Type{{in[0].DType, out}}, nil
}

func inferReduceScatter(in []Type, attrs Attrs) ([]Type, error) {
	a, err := collective(attrs)
	if err != nil {
		return nil, err
	}
	if err := checkAxis(a.Axis, in[0].Shape); err != nil {
		return nil, err
	}
	out := in[0].Shape.Clone()
	if !dim.MayEqual(dim.Mod(out[a.Axis], a.Size()), 0) {
		return nil, fmt.Errorf("axis %d of %v does not split over %d replicas", a.Axis, out, a.Size())
	}
	out[a.Axis] = dim.FloorDiv(out[a.Axis], a.Size())
	return []Type{{in[0].DType, out}}, checkCollectiveKind(a.Kind, in)
}

func inferCollectiveBroadcast(in []Type, attrs Attrs) ([]Type, error) {
	a, err := collective(attrs)
	if err != nil {
		return nil, err
	}
	if a.Root < 0 || a.Root >= a.Size() {
		return nil, fmt.Errorf("root %d is not one of %d replicas", a.Root, a.Size())
	}
	return []Type{in[0]}, nil
}

func inferReplicaID(_ []Type, attrs Attrs) ([]Type, error) {
	_, err := collective(attrs)
	return []Type{{Uint32, nil}}, err
}

// inferIdentity: attributes, if there are any, name axes of a mesh.
func inferIdentity(in []Type, attrs Attrs) ([]Type, error) {
	a, ok := attrs.(LayoutAttrs)
	if !ok {
		return inferSame(in, attrs)
	}
	if len(a.Axes) != len(in[0].Shape) {
		return nil, fmt.Errorf("a layout of %d axes, %v, for %v", len(a.Axes), a.Axes, in[0])
	}
	for i, axis := range a.Axes {
		if axis < -1 || axis >= len(a.Mesh) || axis >= 0 && slices.Contains(a.Axes[:i], axis) {
			return nil, fmt.Errorf("the layout %v: each axis of a mesh of shape %v can divide one axis", a.Axes, a.Mesh)
		}
	}
	return []Type{in[0]}, nil
}
