//go:build !linux

package pool

import "runtime"

// yield lets other goroutines run.
func yield() { runtime.Gosched() }
