//go:build !amd64

package vec

func coarseGelu(_, _ []float32) bool { return false }

func coarseGeluGrad(_, _, _ []float32) bool { return false }
