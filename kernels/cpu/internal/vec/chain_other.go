//go:build !amd64 && !arm64

package vec

// Chains reports whether [Chain] can run here.
func Chains() bool { return false }

// Chain runs the steps on n elements.
func Chain(steps []ChainStep, n int) { panic("vec: no chains on this platform") }

func share32(_, _, _, _ []float32) bool { return false }
