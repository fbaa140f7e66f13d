package ir

import "fmt"

func init() {
	decompositions[Barrier] = func(_ *builder, n *Node) []Value { return n.Inputs[:1] } // whoever has no barriers may keep x and all that is computed from it
}

func inferBarrier(in []Type, attrs Attrs) ([]Type, error) {
	if attrs != nil {
		return nil, fmt.Errorf("takes no attributes, received %T", attrs)
	}
	return in[:1], nil
}
