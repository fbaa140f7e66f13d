// Package isa decides once, at program start, which instructions the CPU kernels may use: it is a set of features that
// both the processor and the operating system support, not a level, because newer extensions do not come in one order.
//
// The environment variable GOKERAS_CPU=portable|neon|avx2|avx512 allows fewer, for tests and for comparing machines:
// none at all, those of arm64, those of AVX2, or those of AVX-512, each with the extensions of its vectors. A value
// that is unknown or that this processor cannot execute is ignored and reported by [Err].
package isa

import (
	"fmt"
	"math/bits"
	"os"
	"strings"
	"sync/atomic"
)

// Features is a set of extensions of an instruction set. The empty set, [Portable], is plain Go.
type Features uint32

// Portable is the set without any feature: plain Go, on every architecture.
const Portable Features = 0

// The features, by the names that the processors' manuals have for them.
const (
	NEON    Features = 1 << iota // arm64: 128-bit vectors, which every processor has
	DotProd                      // arm64: sums of four products of int8
	BF16                         // arm64: products of bfloat16
	I8MM                         // arm64: products of matrices of int8
	AVX2                         // x86: 256-bit vectors
	FMA
	F16C
	AVX512F // x86: 512-bit vectors
	AVX512BW
	AVX512DQ
	AVX512VL
	AVX512VNNI // sums of four products of int8
	AVX512BF16 // products of bfloat16
	AVX512FP16 // arithmetic of half precision
	AMXTile    // x86: registers that are matrices. Kernels ask for them first: see MatrixRegisters.
	AMXInt8
	AMXBF16
	AVX512VBMI      // bytes from anywhere in two vectors
	AVX512BF16Round // x86: the conversion to bfloat16, which comes with AVX512BF16 and is fast where that is slow
)

// What the kernels of a family of vectors need.
const (
	Vectors256 = AVX2 | FMA | F16C                                     // x86 since 2013
	Vectors512 = Vectors256 | AVX512F | AVX512BW | AVX512DQ | AVX512VL // x86
)

var featureNames = [...]string{"neon", "dotprod", "bf16", "i8mm", "avx2", "fma", "f16c", "avx512f", "avx512bw", "avx512dq", "avx512vl", "avx512vnni",
	"avx512bf16", "avx512fp16", "amxtile", "amxint8", "amxbf16",
	"avx512vbmi", "avx512bf16round"}

// Has reports whether all of the wanted features are in the set.
func (f Features) Has(wanted Features) bool { return f&wanted == wanted }

// usable returns the set, or the empty one if kernels of no kind can run: none is made for a part of AVX2, FMA and
// F16C.
func (f Features) usable() Features {
	if f.Has(NEON) || f.Has(Vectors256) {
		return f
	}
	return Portable
}

// path is what GOKERAS_CPU can ask for.
type path struct {
	name   string
	needs  Features // the processor must have
	allows Features
}

const (
	arm        = NEON | DotProd | BF16 | I8MM
	everything = ^Features(0)
)

// paths are those of all architectures, the ones that need less first.
var paths = [...]path{
	{"portable", Portable, Portable},
	{"neon", NEON, arm},
	{"avx2", Vectors256, Vectors256},
	{"avx512", Vectors512, everything &^ arm},
}

// String returns the name in GOKERAS_CPU of the last path whose needs are in the set, and the features it has besides:
// "avx512+avx512vnni".
func (f Features) String() string {
	last := paths[0]
	for _, p := range paths {
		if f.Has(p.needs) {
			last = p
		}
	}
	var s strings.Builder
	s.WriteString(last.name)
	for rest := f &^ last.needs; rest != 0; rest &= rest - 1 {
		i := bits.TrailingZeros32(uint32(rest))
		if i < len(featureNames) {
			s.WriteString("+" + featureNames[i])
		} else {
			fmt.Fprintf(&s, "+%#x", uint32(1)<<i)
		}
	}
	return s.String()
}

// EnvironmentVariable is the name of the variable that forces a path.
const EnvironmentVariable = "GOKERAS_CPU"

var (
	detected = detect() | named(assumed)
	slow     = detectSlow(detected)
	active   atomic.Uint32
	initErr  error
)

// assumed names further features, as String does. Only the linker sets it (-X), for tests in an emulator of what this
// processor lacks.
var assumed string

// named returns the features with these names, joined by "+".
func named(names string) (f Features) {
	for i, name := range featureNames {
		if strings.Contains("+"+names+"+", "+"+name+"+") {
			f |= 1 << i
		}
	}
	return f
}

func init() {
	f, err := choose(os.Getenv(EnvironmentVariable), Detected())
	active.Store(uint32(f))
	initErr = err
}

// choose returns the features that the environment value env leaves of those that a processor has.
func choose(env string, have Features) (Features, error) {
	if env == "" {
		return have, nil
	}
	var supported, known []string
	for _, p := range paths {
		known = append(known, p.name)
		if have.Has(p.needs) {
			supported = append(supported, p.name)
		}
	}
	for _, p := range paths {
		switch {
		case p.name != env:
		case !have.Has(p.needs):
			return have, fmt.Errorf("%s=%s: this processor supports %v; unset the variable or name one of them", EnvironmentVariable, env, supported)
		default:
			return have & p.allows, nil
		}
	}
	last := len(known) - 1
	return have, fmt.Errorf("%s=%q: unknown value, expected %s or %s", EnvironmentVariable, env, strings.Join(known[:last], ", "), known[last])
}

// Detected returns all features of this processor, whatever is active, but for those that take longer than what
// kernels without them do.
func Detected() Features { return detected &^ slow &^ Features(denied.Load()) }

// Executable returns all features of this processor, the slow ones too: tests try their kernels.
func Executable() Features { return detected &^ (Features(denied.Load()) & matrices) }

// Active returns the features that kernels may use. It is cheap enough to ask at every kernel call.
func Active() Features { return Features(active.Load()) }

// Err tells why the value of GOKERAS_CPU was not obeyed; nil if it was, or was empty.
func Err() error { return initErr }

// Override makes those of the features active that this processor can execute, and returns a function that undoes it.
// It is for tests and benchmarks.
func Override(f Features) (restore func()) {
	previous := active.Swap(uint32((f & Executable()).usable()))
	return func() { active.Store(previous) }
}

// Paths returns the sets of features that GOKERAS_CPU can make active on this processor, plain Go first, and last all
// that it has.
func Paths() []Features {
	var all []Features
	have := Detected()
	for _, p := range paths {
		if have.Has(p.needs) {
			all = append(all, have&p.allows)
		}
	}
	return all
}
