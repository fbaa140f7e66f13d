package ir

import "fmt"

func init() {
	decompositions[Barrier] = func(_ *builder, n *Node) []Value { return n.Inputs[:1] } // a backend without barriers may keep x and everything computed from it
}

func inferBarrier(in []Type, attrs Attrs) ([]Type, error) {
	if attrs != nil {
		return nil, fmt.Errorf("takes no attributes, received %T", attrs)
	}
	return in[:1], nil
}
