//go:build !amd64 && !arm64

package vec

import "unsafe"

func smallPairs(_ smallPairOp, _ int, _, _, _ unsafe.Pointer, _ int) int { return 0 }
func powers(_ powerOp, _ int, _, _, _ unsafe.Pointer, _, _ int) int      { return 0 }
