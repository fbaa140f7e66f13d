//go:build amd64 || arm64

package pool

// pause tells the processor that the caller spins; it takes 20 to 150 nanoseconds.
//
//go:noescape
func pause()
