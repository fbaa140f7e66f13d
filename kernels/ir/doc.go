// Package ir defines the program that every model is traced into: a typed graph in static single assignment form with
// static shapes. It knows types, shapes and meaning, and executes nothing; backends (package kernels) compile it.
//
// # Glossary
//
//   - value: one tensor of the program, named %0, %1, ...; it is defined once, as an input or by a node.
//   - node: one operation; it reads values and defines one or more new ones.
//   - type: the element type ([DType]) and the static [Shape] of a value.
//   - rank: number of axes; a scalar has rank 0. Axes are counted from 0; attributes never hold negative axes.
//   - primitive: an op that has only itself; composite: an op with fixed meaning and a decomposition into primitives
//     ([Decompose]), which a backend may take whole or decomposed.
//   - collective: an op whose result depends on the same op in the other replicas' programs.
//   - sub-program: the body of a control-flow op. It captures nothing: whatever it reads is an input.
//   - alias: an output that replaces an input. Variables are inputs that are donated and returned this way.
//
// Images and sequences are channels last: (batch, spatial..., channels), kernels are (spatial..., in/groups, out).
//
// Every op has a StableHLO counterpart (or is decomposed into ops that have one) in the op table, so a program can be
// printed for XLA devices.
package ir
