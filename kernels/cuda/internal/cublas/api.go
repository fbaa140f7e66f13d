package cublas

import "fmt"

// Status is what the library's calls return, cublasStatus_t.
type Status int32

// Statuses that are looked at.
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

// Error names the call and says what the status means.
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

// Operand is a matrix in rows and columns of C[m,n] = Σ_k A[m,k]·B[k,n], one for each of a batch.
type Operand struct {
	Turned bool  // neighbours along k, of A, or along n, of B, do not lie beside each other, but those along m, or k, do
	Stride int64 // from line to line, in elements
	Batch  int64 // from matrix to matrix
}

// Problem is a product. C is dense: its rows follow each other.
type Problem struct {
	M, N, K, Batch int64
	In, Out        Type // of A and B, and of C; sums are float32
	TF32           bool // operands of float32 may lose digits
	A, B           Operand
}

// WorkspaceBytes is the memory that a product may use beside its operands.
const WorkspaceBytes = 32 << 20

// Product is a problem with the algorithm that the library has chosen for it. It may be run in any stream, by one
// goroutine at a time.
type Product interface {
	// Run puts C = A·B into a stream of the current context, with memory of WorkspaceBytes.
	Run(a, b, c, workspace, stream uint64) error
	Close()
}

// API is the library for one device. Its calls want the device's context.
type API interface {
	// Prepare chooses an algorithm. One that adds up with atomic operations is not among them.
	Prepare(p Problem) (Product, error)
	Close() error
}

// view is a matrix as the library sees it: in contiguous columns.
type view struct {
	transposed    bool
	rows, columns int64
	stride, batch int64
}

// views are those of a problem: Cᵀ = Bᵀ·Aᵀ, because rows of ours are columns of the library's.
func (p Problem) views() (left, right, result view) {
	of := func(o Operand, rows, columns int64) view {
		if o.Turned {
			rows, columns = columns, rows
		}
		return view{o.Turned, rows, columns, o.Stride, o.Batch}
	}
	return of(p.B, p.N, p.K), of(p.A, p.K, p.M), view{false, p.N, p.M, p.N, p.N * p.M}
}
