package multiworker

import (
	"github.com/gokeras/gokeras/distribute/collective"
	"github.com/gokeras/gokeras/distribute/internal/numbers"
	"github.com/gokeras/gokeras/kernels/ir"
)

// riders are flags that are added to the next sum of a program, so that agreeing on them takes no separate call. A flag
// is a number of the sum's type; it is set on all workers if its sum is not 0.
//
// All workers attach flags before the same step. Whether a sum carries them depends on the sum alone, so all workers
// decide alike. Only short sums carry flags: longer ones are sent without copying, and flags would make a copy of them
// necessary.
type riders struct {
	flags  []byte // that wait for a sum
	single [maxRiders]float32
	double [maxRiders]float64
	shape  [1]int
	joined bool
}

const (
	maxRiders = 8
	// maxCarrier is the size in bytes of the largest sum that carries flags.
	maxCarrier = 32 << 10
)

// Attach adds up to 8 flags, each 0 or 1, to the next sum of a program. The joined flags replace them in the same
// memory.
func (w *group) Attach(flags []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.riders.flags, w.riders.joined = flags, false
}

// Attached reports whether a sum has joined the flags of all workers since Attach. Only the first sum that can carry
// flags joins them.
func (w *group) Attached() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	joined := w.riders.joined
	w.riders.flags, w.riders.joined = nil, false
	return joined
}

// board appends the flags to the tensors of a sum that can carry them.
func (r *riders) board(tensors []collective.Tensor) (out []collective.Tensor, riding bool) {
	if r.flags == nil || len(r.flags) > maxRiders || len(tensors) == 0 {
		return tensors, false
	}
	d, size := tensors[len(tensors)-1].DType, 0
	for _, t := range tensors {
		size += len(t.Data)
	}
	if d != ir.Float32 && d != ir.Float64 || size > maxCarrier {
		return tensors, false
	}
	n := len(r.flags)
	r.shape[0] = n
	memory := numbers.Bytes(r.double[:n])
	if d == ir.Float32 {
		memory = numbers.Bytes(r.single[:n])
	}
	for i, f := range r.flags {
		r.single[i], r.double[i] = float32(f), float64(f)
	}
	return append(tensors, collective.Tensor{DType: d, Shape: r.shape[:], Data: memory}), true
}

// arrive sets the flags that any worker has set.
func (r *riders) arrive(d ir.DType) {
	for i := range r.flags {
		r.flags[i] = 0
		if d == ir.Float32 && r.single[i] != 0 || d == ir.Float64 && r.double[i] != 0 {
			r.flags[i] = 1
		}
	}
	r.flags, r.joined = nil, true
}
