package cublas

import "fmt"

// Status is the library's status code, cublasStatus_t.
type Status int32

// The statuses that callers distinguish.
const (
	Success      Status = 0
	NotSupported Status = 15
)

var statuses = map[Status]string{
	1: "not initialized", 3: "an allocation failed", 7: "an invalid value", 8: "the architecture lacks something", 11: "a mapping failed",
	13: "execution failed", 14: "an internal error", NotSupported: "not supported", 16: "a license error",
}

// Error is a call that failed.
type Error struct {
	Call   string
	Status Status
}

// Error names the call and explains the status.
func (e *Error) Error() string {
	text := statuses[e.Status]
	if text == "" {
		text = "a failure that is not known"
	}
	return fmt.Sprintf("cublas: %s: %s (%d)", e.Call, text, e.Status)
}

func check(s Status, call string) error {
	if s == Success {
		return nil
	}
	return &Error{call, s}
}

// Type is an element type, cudaDataType_t.
type Type int32

// The types of operands and results.
const (
	Float32  Type = 0
	Float16  Type = 2
	BFloat16 Type = 14
)

// Operand describes the layout of A or B in C[m,n] = Σ_k A[m,k]·B[k,n], or of a batch of such matrices.
type Operand struct {
	Turned bool  // neighbours along m of A, or along k of B, are adjacent in memory, instead of those along k, or along n
	Stride int64 // from line to line of adjacent elements, in elements
	Batch  int64 // from matrix to matrix
}

// Problem is a product. C is dense: its rows follow each other.
type Problem struct {
	M, N, K, Batch int64
	In, Out        Type // In is the type of A and B, Out that of C; sums are float32
	TF32           bool // float32 operands may be rounded to TF32
	A, B           Operand
}

// WorkspaceBytes is the size of the scratch memory of a product.
const WorkspaceBytes = 32 << 20

// Product is a problem with the algorithm that the library chose for it. It may run in any stream, used by one
// goroutine at a time.
type Product interface {
	// Run enqueues C = A·B in a stream of the current context. The workspace has WorkspaceBytes.
	Run(a, b, c, workspace, stream uint64) error
	Close()
}

// API is the library for one device. Its methods require the device's context to be current.
type API interface {
	// Prepare chooses an algorithm. It excludes algorithms that accumulate with atomic operations.
	Prepare(p Problem) (Product, error)
	Close() error
}

// view is a matrix as the library sees it: column-major.
type view struct {
	transposed    bool
	rows, columns int64
	stride, batch int64
}

// views returns the library's view of a problem: Cᵀ = Bᵀ·Aᵀ, because our rows are the library's columns.
func (p Problem) views() (left, right, result view) {
	of := func(o Operand, rows, columns int64) view {
		if o.Turned {
			rows, columns = columns, rows
		}
		return view{o.Turned, rows, columns, o.Stride, o.Batch}
	}
	return of(p.B, p.N, p.K), of(p.A, p.K, p.M), view{false, p.N, p.M, p.N, p.N * p.M}
}
