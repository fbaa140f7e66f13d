//go:build !amd64 && !arm64

package quant

import "unsafe"

func hasTableRows() bool { return false }

func wideTableLanes() int { return tableLanes }

func bytesRows(int, unsafe.Pointer, unsafe.Pointer, *tablePiece, int, int, int, int, int) {}

func nibblesRows(_ int, _, _, _, _ unsafe.Pointer, _ *[tableChunk]rowPlace, _, _, _, _, _, _ int) {}
