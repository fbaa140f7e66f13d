// Command benchops times every function of keras.ops and every layer, forward and with gradients, beside PyTorch and
// JAX, on one thread, and writes a table.
//
// The functions come from the registry of operation layers, so that a new one cannot be forgotten: one that can be
// neither called with the arguments that its signature suggests nor with those of cases.go fails the test of this
// package. Each is timed at three sizes: operands of the second-level cache, of the third, and beyond. Peers are
// processes that run Keras's own functions on their backend (peer.py); all are measured in turn, within the same
// second, and the best of several rounds counts.
//
//	go run ./internal/benchops -python PYTHON     # the table, with peers if the Python has Keras, torch and jax
//	go run ./internal/benchops -rows FILE         # keeps what was measured, and does not measure it again
//	go run ./internal/benchops -dtype float64     # in another element type
//	go run ./internal/benchops -copies            # ours alone, against a copy of the same bytes; fails where an operation is too slow
//	go run ./internal/benchops -steps             # ours alone: the steps that each call runs, with their times
//	go run ./internal/benchops -variants          # layers in the configurations of variants.txt: pools, axes, formats, nested layers, preprocessing
//	go run ./internal/benchops -threads 2         # two threads for each process, by the time of day
//	go run ./internal/benchops -random 500        # random calls, of types, shapes and axes without a row, against copies; the slowest first
//	go run ./internal/benchops -random 500 -dtype bfloat16    # random calls of one type
//	go run ./internal/benchops -random 500 -python PYTHON -jax    # functions and layers beside PyTorch and JAX
//
// A run with peers takes an hour. Several runs with different -only, -sizes and -dtype can write to the same -rows
// file, one after the other.
package main
