//go:build !amd64 && !arm64

package pool

import "runtime"

// pause yields, for want of a spin-loop hint.
func pause() { runtime.Gosched() }
