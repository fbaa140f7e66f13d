// Package ops builds programs: differentiable operations on symbolic tensors, under the names of keras.ops, and the
// rule that derives each one's gradient.
//
// A [Graph] is one program being traced; a [Tensor] is one of its values. Operations append nodes to the graph of their
// operands. Nothing is computed here: a backend (package kernels) compiles and runs what was traced.
//
// # Errors
//
// Building a graph may panic, with *[Error] only: wrong shapes, unknown names, missing gradients. The function that
// starts a trace recovers it (see [Catch]) and returns it as an error that carries the path of the layer. Any other
// panic is a bug in the program and is not caught.
//
// # Broadcasting and types
//
// Binary operations broadcast as NumPy does: axes are aligned at the end and an axis of length 1 repeats. Operands of
// different element types are promoted: integers to the float type of the other operand, float16 with bfloat16 to
// float32, otherwise to the wider type. Python-style scalars (the ...Scalar functions) take the tensor's type.
//
// # Gradients
//
// [Tape.Gradients], [Grad] and [VJP] derive gradients on the graph, to any order; the rule of each op is next to it,
// and composites without a rule are differentiated through their decomposition. Gradients at kinks are JAX's, except
// that |x| has slope 0 at 0 as in TensorFlow. [StopGradient] and [CustomGradient] change the gradient.
//
// # Control flow
//
// [Scan], [Cond] and [WhileLoop] trace their bodies as functions, which may use any tensor of the surrounding trace. A
// tensor created inside a body can be used outside only as a result of the body. Operations on outer tensors inside a
// loop's body run once, before the loop; inside a branch they run only when the branch is taken.
//
// # Differences from keras.ops
//
// [Inventory] lists every function of keras.ops with its name here.
//
// Shapes are static, so functions whose result shape depends on values (nonzero, one-argument where) do not exist, and
// bincount, histogram, unique and the segment functions take the length of the result. There are no complex numbers;
// Fourier transforms take and return their real and imaginary parts, as in Keras. Function names are Keras's in Go
// casing; where Python has optional arguments there are several functions or an options struct. keras.ops.dot is
// [NumpyDot] ([Dot] is the general contraction), keras.ops.scatter_update is [ScatterUpdatePoints] ([ScatterUpdate]
// replaces slices along one axis). [Sparsemax] sums to 1 whatever the operand, which Keras's did not up to version
// 3.15.
package ops
