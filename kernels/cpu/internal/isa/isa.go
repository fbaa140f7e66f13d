// Package isa decides once, at program start, which instructions the CPU kernels may use. It is a set of features that
// the processor and the operating system both support. It is not a level, because newer extensions do not come in one
// order.
//
// The environment variable GOKERAS_CPU=portable|neon|avx2|avx512 reduces the set, for tests and for comparing machines:
// to nothing, or to the features of arm64, of AVX2, or of AVX-512 with the extensions of its vectors. A value that is
// unknown, or that this processor cannot execute, is ignored and reported by [Err].
package isa

import (
	"fmt"
	"math/bits"
	"os"
	"strings"
	"sync/atomic"
)

// Features is a set of instruction set extensions. The empty set, [Portable], is plain Go.
type Features uint32

// Portable is the set without features: plain Go, on every architecture.
const Portable Features = 0

// The features, by their names in the processors' manuals.
const (
	NEON    Features = 1 << iota // arm64: 128-bit vectors, which every such processor has
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
	AMXTile    // x86: matrix registers. Kernels must first ask for them: see MatrixRegisters.
	AMXInt8
	AMXBF16
	AVX512VBMI      // gathers bytes from anywhere in two vectors
	AVX512BF16Round // x86: only the conversion to bfloat16 of AVX512BF16, which is fast even where its products are slow
)

// What the kernels for a vector length need.
const (
	Vectors256 = AVX2 | FMA | F16C                                     // x86 since 2013
	Vectors512 = Vectors256 | AVX512F | AVX512BW | AVX512DQ | AVX512VL // x86
)

var featureNames = [...]string{"neon", "dotprod", "bf16", "i8mm", "avx2", "fma", "f16c", "avx512f", "avx512bw", "avx512dq", "avx512vl", "avx512vnni",
	"avx512bf16", "avx512fp16", "amxtile", "amxint8", "amxbf16",
	"avx512vbmi", "avx512bf16round"}

// Has reports whether all of the wanted features are in the set.
func (f Features) Has(wanted Features) bool { return f&wanted == wanted }

// usable returns the set, or the empty set if no kernels can use it: there are none for only some of AVX2, FMA and
// F16C.
func (f Features) usable() Features {
	if f.Has(NEON) || f.Has(Vectors256) {
		return f
	}
	return Portable
}

// path is a value of GOKERAS_CPU.
type path struct {
	name   string
	needs  Features // of the processor
	allows Features
}

const (
	arm        = NEON | DotProd | BF16 | I8MM
	everything = ^Features(0)
)

// paths lists the paths of all architectures, those that need least first.
var paths = [...]path{
	{"portable", Portable, Portable},
	{"neon", NEON, arm},
	{"avx2", Vectors256, Vectors256},
	{"avx512", Vectors512, everything &^ arm},
}

// String returns the name, as in GOKERAS_CPU, of the last path whose needs are in the set, followed by the other
// features of the set: "avx512+avx512vnni".
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

// assumed names further features, in the format of String. Only the linker sets it (-X), for tests that emulate what
// this processor lacks.
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

// choose returns the features that remain of those that a processor has if the environment variable has the value env.
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

// Detected returns all features of this processor, whatever is active, except those whose kernels would be slower than
// others.
func Detected() Features { return detected &^ slow &^ Features(denied.Load()) }

// Executable returns all features of this processor, even the slow ones, so that tests can run their kernels.
func Executable() Features { return detected &^ (Features(denied.Load()) & matrices) }

// Active returns the features that kernels may use. It is cheap enough to ask at every kernel call.
func Active() Features { return Features(active.Load()) }

// Err says why the value of GOKERAS_CPU was not followed. It is nil if it was followed, or was empty.
func Err() error { return initErr }

// Override activates those of the features that this processor can execute, and returns a function that undoes this. It
// is for tests and benchmarks.
func Override(f Features) (restore func()) {
	previous := active.Swap(uint32((f & Executable()).usable()))
	return func() { active.Store(previous) }
}

// Paths returns the sets of features that GOKERAS_CPU can activate on this processor: plain Go first, everything last.
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
