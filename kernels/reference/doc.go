// Package reference runs programs slowly and obviously: every op of package ir is a naive loop over float64 numbers (or
// exact 64-bit integers), written from the op's definition and not from its decomposition. It is the oracle that
// backends are compared with (package kernelstest); do not run programs with it for anything else.
//
// Numbers of the narrower floating point types are stored as float64 and are rounded only where the program asks for it
// (Convert, Constant), so that the result is the mathematical one up to float64's own rounding. Interpreter.Round
// rounds every result to its type instead.
package reference
