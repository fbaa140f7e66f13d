package cpu

import "github.com/gokeras/gokeras/kernels/cpu/internal/vec"

// Add sets dst to a + b, element by element, with the processor's vector instructions. dst may be a or b. Add panics if
// a or b is shorter than dst. It is for code that combines host memory outside of programs, such as collectives between
// processes.
func Add(dst, a, b []float32) { vec.Add(dst, a[:len(dst)], b[:len(dst)]) }
