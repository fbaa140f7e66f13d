// Package isa decides once, at program start, which family of CPU kernels runs: plain Go, NEON on arm64, or on amd64 AVX2 with FMA or
// AVX-512.
//
// The choice is the best family that both the processor and the operating system support. The environment variable
// GOKERAS_CPU=portable|neon|avx2|avx512 asks for a lower one, for tests and for comparing machines; a value that is unknown or
// that this processor cannot execute is not obeyed and is reported by [Err].
package isa

import (
	"fmt"
	"os"
	"slices"
	"sync/atomic"
)

// Level is a family of kernels. Levels are ordered: a processor that runs one runs all lower ones of its architecture.
type Level int32

// The levels, lowest first.
const (
	Portable Level = iota // plain Go, on every architecture
	NEON                  // 128-bit vectors: every arm64 processor
	AVX2                  // 256-bit vectors with FMA3 and F16C: x86 since 2013
	AVX512                // 512-bit vectors, AVX-512 F, BW, DQ and VL
)

// EnvironmentVariable is the name of the variable that forces a level.
const EnvironmentVariable = "GOKERAS_CPU"

var names = [...]string{"portable", "neon", "avx2", "avx512"}

// String returns the level's name as written in GOKERAS_CPU.
func (l Level) String() string {
	if l < 0 || int(l) >= len(names) {
		return fmt.Sprintf("Level(%d)", int32(l))
	}
	return names[l]
}

var (
	levels  = detect()
	active  atomic.Int32
	initErr error
)

func init() {
	level, err := choose(os.Getenv(EnvironmentVariable), levels)
	active.Store(int32(level))
	initErr = err
}

// choose returns the level that the environment value env asks for on a processor with the given levels.
func choose(env string, levels []Level) (Level, error) {
	best := levels[len(levels)-1]
	if env == "" {
		return best, nil
	}
	for i, name := range names {
		if name != env {
			continue
		}
		if !slices.Contains(levels, Level(i)) {
			return best, fmt.Errorf("%s=%s: this processor supports %v; unset the variable or name one of them", EnvironmentVariable, env, levels)
		}
		return Level(i), nil
	}
	return best, fmt.Errorf("%s=%q: unknown value, expected portable, neon, avx2 or avx512", EnvironmentVariable, env)
}

// Best returns the highest level this processor supports, whatever is active.
func Best() Level { return levels[len(levels)-1] }

// Active returns the level in force. It is cheap enough to ask at every kernel call.
func Active() Level { return Level(active.Load()) }

// Err tells why the value of GOKERAS_CPU was not obeyed; nil if it was, or was empty.
func Err() error { return initErr }

// Override makes level the active one, lowered to one that this processor supports where needed, and returns a function that undoes it. It is for
// tests and benchmarks: packed operands written under one level are valid under every other.
func Override(level Level) (restore func()) {
	supported := Portable
	for _, l := range levels {
		if l <= level {
			supported = l
		}
	}
	previous := active.Swap(int32(supported))
	return func() { active.Store(previous) }
}

// Levels returns every level this processor can execute, lowest first.
func Levels() []Level { return slices.Clone(levels) }
