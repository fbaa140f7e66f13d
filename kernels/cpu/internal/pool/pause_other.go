//go:build !amd64 && !arm64

package pool

import "runtime"

// pause yields, because there is no spin-loop hint.
func pause() { runtime.Gosched() }
