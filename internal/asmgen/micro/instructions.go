package main

import . "github.com/gokeras/gokeras/internal/asmgen/vector"

func (k kernel) zero(v Vector) {
	if k.wide {
		ZeroInt(v)
	} else {
		Zero(v)
	}
}

// max stores max(zero, v) in v: for NaN the operation returns its last source, which is v.
func (k kernel) max(v, zero Vector) { Max(v, zero, v) }
