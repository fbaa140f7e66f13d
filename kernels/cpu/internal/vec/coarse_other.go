//go:build !amd64

package vec

func coarse32(coarseFunction, []float32, []float32) bool { return false }

func coarseGeluGrad(_, _, _ []float32) bool { return false }
