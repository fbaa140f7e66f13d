//go:build !amd64 && !arm64

package vec

import "unsafe"

func packs() bool                                                 { return false }
func packedBytes(_ packedOp, _, _, _ []uint8) int                 { return 0 }
func packedUnaryBytes(_ packedUnaryOp, _, _ []uint8) int          { return 0 }
func widenPacked(_ wideningOp, _, _ unsafe.Pointer, _, _ int) int { return 0 }
