// Package ops builds programs: differentiable operations on symbolic tensors, under the names of keras.ops, and the rule that
// derives each one's gradient.
//
// A [Graph] is one program being traced; a [Tensor] is one of its values. Operations append nodes to the graph of their
// operands. Nothing is computed here: a backend (package kernels) compiles and runs what was traced.
//
// # Errors
//
// Building a graph may panic, with *[Error] only: wrong shapes, unknown names, missing gradients. The function that starts a
// trace recovers it (see [Catch]) and returns it as an error that carries the path of the layer. Any other panic is a bug in
// the program and is not caught.
//
// # Broadcasting and types
//
// Binary operations broadcast as NumPy does: axes are aligned at the end and an axis of length 1 repeats. Operands of
// different element types are promoted: integers to the float type of the other operand, float16 with bfloat16 to float32,
// otherwise to the wider type. Python-style scalars (the ...Scalar functions) take the tensor's type.
package ops
