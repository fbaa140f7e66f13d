package ptx

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Class is a kind of register.
type Class uint8

// The classes: predicates, 32-bit and 64-bit integers, and 32-bit and 64-bit floats.
const (
	Pred Class = iota
	B16        // only for converting 16-bit floats
	B32
	B64
	F32
	F64
	classes
)

var classPrefix = [classes]string{"%p", "%h", "%r", "%d", "%f", "%e"}
var classType = [classes]string{".pred", ".b16", ".b32", ".b64", ".f32", ".f64"}

// Operand is a register or an immediate number. The zero value is no operand.
type Operand struct {
	Class Class
	id    int32 // of a register, from 1; 0 for an immediate
	text  string
	value int64 // of an integer immediate
}

// IsZero reports whether this is the zero value, no operand.
func (o Operand) IsZero() bool { return o.id == 0 && o.text == "" }

// Int returns the value of an integer immediate.
func (o Operand) Int() (int64, bool) {
	return o.value, o.id == 0 && (o.Class == B32 || o.Class == B64) && o.text != ""
}

// String returns the operand in PTX's notation.
func (o Operand) String() string {
	if o.id != 0 {
		return classPrefix[o.Class] + strconv.Itoa(int(o.id))
	}
	return o.text
}

// Int32 returns a 32-bit integer immediate.
func Int32(n int64) Operand {
	return Operand{Class: B32, text: strconv.FormatInt(n, 10), value: n}
}

// Int64 returns a 64-bit integer immediate.
func Int64(n int64) Operand {
	return Operand{Class: B64, text: strconv.FormatInt(n, 10), value: n}
}

// Float32 returns a float immediate with exactly these bits.
func Float32(x float32) Operand {
	return Operand{Class: F32, text: fmt.Sprintf("0f%08X", math.Float32bits(x))}
}

// Inverse returns the reciprocal of a 32-bit float immediate, if that is exact: for a power of 2 that is neither very
// large nor very small.
func Inverse(x Operand) (inverse Operand, known bool) {
	if x.id != 0 || x.Class != F32 || !strings.HasPrefix(x.text, "0f") {
		return Operand{}, false
	}
	bits, err := strconv.ParseUint(x.text[2:], 16, 32)
	f := math.Float32frombits(uint32(bits))
	fraction, exponent := math.Frexp(float64(f))
	if err != nil || math.Abs(fraction) != 0.5 || exponent < -100 || exponent > 100 {
		return Operand{}, false
	}
	return Float32(1 / f), true
}

// Float64 returns a float immediate with exactly these bits.
func Float64(x float64) Operand {
	return Operand{Class: F64, text: fmt.Sprintf("0d%016X", math.Float64bits(x))}
}

// Raw returns an operand written by the caller: an address or a special register.
func Raw(text string) Operand { return Operand{Class: classes, text: text} }

// IsImmediate reports whether the operand is a number.
func (o Operand) IsImmediate() bool { return o.id == 0 && o.text != "" && o.Class < classes }
