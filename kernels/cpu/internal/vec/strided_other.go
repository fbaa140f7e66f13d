//go:build !amd64

package vec

import "unsafe"

func strided(_, _ unsafe.Pointer, _, _, _ int) int                { return 0 }
func reversed(_, _ unsafe.Pointer, _, _ int) int                  { return 0 }
func apart(_ []unsafe.Pointer, _ unsafe.Pointer, _, _, _ int) int { return 0 }
func turns(_ unsafe.Pointer, _ []unsafe.Pointer, _, _, _ int) int { return 0 }
