//go:build !amd64

package vec

import "unsafe"

func repeatLanes() int { return 0 }

func anyBytes() bool { return false }

func (r *Repeats) run(_, _ unsafe.Pointer, _ int) {}

func (r *Rearranged) run(_, _ unsafe.Pointer, _ int) {}
