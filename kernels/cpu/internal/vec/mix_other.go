//go:build !amd64 && !arm64

package vec

func divides(int) (wide, ok bool) { return false, false }

func fills(int) (wide, ok bool) { return false, false }

func mixRows32(_, _ []float32, _ []int, _ []float32, _, _ int) {}
