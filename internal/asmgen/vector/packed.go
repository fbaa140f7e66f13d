package vector

import (
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
)

// Packed is an operation on 8-bit or 16-bit integers, or on unsigned 32-bit ones. For amd64.
type Packed int

// The operations of [Compute].
const (
	AddBytes Packed = iota
	SubtractBytes
	MaxInt8
	MaxUint8
	MinInt8
	MinUint8
	AddWords
	SubtractWords
	MultiplyWords
	MaxInt16
	MaxUint16
	MinInt16
	MinUint16
	MaxUint32
	MinUint32
	ShuffleBytes // selects bytes within each 16 bytes of a, by b
)

// packed are the instructions.
var packed = map[Packed]func(b *build.Context, ops ...operand.Op){
	AddBytes: (*build.Context).VPADDB, SubtractBytes: (*build.Context).VPSUBB, MaxInt8: (*build.Context).VPMAXSB, MaxUint8: (*build.Context).VPMAXUB,
	MinInt8: (*build.Context).VPMINSB, MinUint8: (*build.Context).VPMINUB, AddWords: (*build.Context).VPADDW, SubtractWords: (*build.Context).VPSUBW,
	MultiplyWords: (*build.Context).VPMULLW, MaxInt16: (*build.Context).VPMAXSW, MaxUint16: (*build.Context).VPMAXUW,
	MinInt16: (*build.Context).VPMINSW, MinUint16: (*build.Context).VPMINUW, MaxUint32: (*build.Context).VPMAXUD, MinUint32: (*build.Context).VPMINUD,
	ShuffleBytes: (*build.Context).VPSHUFB,
}

// Compute is dst = a p b; sums, differences and products wrap around.
func Compute(p Packed, dst, a Vector, b Operand) { recordNumber(opPacked, int(p), dst, a, b) }

// ShiftLeftWords shifts 16-bit numbers left. For amd64.
func ShiftLeftWords(dst, v Vector, by int) { recordNumber(opShiftLeftWords, by, dst, v) }

// WidenSignedBytes loads signed bytes as integers. For amd64.
func WidenSignedBytes(dst Vector, from Memory) { record(opWidenSignedBytes, dst, from) }

// WidenSignedWords loads signed 16-bit numbers as integers. For amd64.
func WidenSignedWords(dst Vector, from Memory) { record(opWidenSignedWords, dst, from) }
