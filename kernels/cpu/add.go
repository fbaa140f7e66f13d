package cpu

import "github.com/gokeras/gokeras/kernels/cpu/internal/vec"

// Add sets dst to a + b, element by element, with the vector instructions of the processor; dst may be a or b. It
// panics if a or b is shorter than dst. It is for those who combine host memory outside of a program, as collectives
// between processes do.
func Add(dst, a, b []float32) { vec.Add(dst, a[:len(dst)], b[:len(dst)]) }
