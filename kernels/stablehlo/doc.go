// Package stablehlo writes programs as StableHLO, the portable dialect of XLA's compilers, in MLIR's text form.
//
// [Lower] takes a program of package ir and returns a module whose function main has the program's inputs and outputs.
// Every op has a lowering: primitives one to one, convolutions and poolings as StableHLO's own, other composites
// through their decompositions. Where the two differ, the module spells out what the reference does: division of
// integers by zero, the order of NaN in sorts, which of several equal maxima counts, random numbers (Philox in integer
// arithmetic, the same bits), and indices outside their axis.
//
// An index outside its axis is a run-time error here but ignored in StableHLO. Every module therefore takes the failure
// flag after the program's inputs and returns it after its outputs: int32[3] with the number of the module
// ([Options].Number), that of the check that failed, counted from 1, and the offending index; zeros if there is no
// failure. [Module.Failure] explains the numbers. While the flag is set, by this run or an earlier one, outputs that
// replace inputs repeat the inputs: a failed step changes no variable, and neither do the steps launched after it
// before the host has noticed. Replicas agree on the flag, so if one fails, all do.
//
// Locations carry the paths of the layers, so that a compiler's messages about an op name the user's layer.
//
// StableHLO: https://openxla.org/stablehlo/spec; the text works with versions from 1.13 on.
package stablehlo
