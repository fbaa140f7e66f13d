//go:build !amd64 && !arm64

package vec

import "unsafe"

func compare64(_ compare64Op, _ []uint8, _, _ []float64) int        { return 0 }
func convert64(_ convert64Op, _, _ unsafe.Pointer, _, _, _ int) int { return 0 }
func orderLongs(_, _ []int64) int                                   { return 0 }
