package nccl

import (
	"fmt"

	"github.com/gokeras/gokeras/kernels/cuda/internal/driver"
	"github.com/gokeras/gokeras/kernels/ir"
)

// MinimumVersion is the oldest supported NCCL, as it counts itself: 2.14, the first with nonblocking communicators.
const MinimumVersion = 21400

// Result is the status of a call, ncclResult_t.
type Result int32

// The results.
const (
	Success Result = iota
	UnhandledCUDAError
	SystemError
	InternalError
	InvalidArgument
	InvalidUsage
	RemoteError
	InProgress
)

// Comm is a communicator, an object of the library.
type Comm uint64

// IDBytes is the size of an [ID].
const IDBytes = 128

// ID is what ranks need to find each other. One of them draws it and sends it to the others.
type ID [IDBytes]byte

// DataType is the type of elements, ncclDataType_t.
type DataType int32

// The types of elements.
const (
	Int8 DataType = iota
	Uint8
	Int32
	Uint32
	Int64
	Uint64
	Float16
	Float32
	Float64
	BFloat16
)

// TypeOf returns the library's type of elements; false where it has none.
func TypeOf(d ir.DType) (DataType, bool) {
	t, ok := map[ir.DType]DataType{
		ir.Int8: Int8, ir.Uint8: Uint8, ir.Int32: Int32, ir.Uint32: Uint32, ir.Int64: Int64, ir.Uint64: Uint64,
		ir.Float16: Float16, ir.Float32: Float32, ir.Float64: Float64, ir.BFloat16: BFloat16,
	}[d]
	return t, ok
}

// Op is how values are combined, ncclRedOp_t.
type Op int32

// The ways to combine values.
const (
	Sum Op = iota
	Prod
	Max
	Min
	Avg
)

// OpOf returns the library's operation for a kind; false if it has none. A mean is not among them, because ncclAvg
// rounds each operand.
func OpOf(k ir.Kind) (Op, bool) {
	op, ok := map[ir.Kind]Op{ir.Sum: Sum, ir.Prod: Prod, ir.Max: Max, ir.Min: Min}[k]
	return op, ok
}

// API is the library. Calls that work on a communicator need the context of its device to be current on the thread, and
// those between GroupStart and GroupEnd must be on one thread.
type API interface {
	Version() (int, Result)
	UniqueID() (ID, Result)
	// InitRank begins to connect a rank of several and sets c at once. No other call may use c until AsyncError says
	// that it is connected.
	InitRank(c *Comm, ranks int, id ID, rank int) Result
	// AsyncError returns InProgress while a call goes on, else what became of the communicator.
	AsyncError(c Comm) (state, r Result)
	GroupStart() Result
	GroupEnd() Result

	AllReduce(send, recv driver.Address, count int64, t DataType, op Op, c Comm, stream driver.Handle) Result
	Broadcast(send, recv driver.Address, count int64, t DataType, root int, c Comm, stream driver.Handle) Result
	Reduce(send, recv driver.Address, count int64, t DataType, op Op, root int, c Comm, stream driver.Handle) Result
	// AllGather's count is that of one rank, and so is ReduceScatter's.
	AllGather(send, recv driver.Address, count int64, t DataType, c Comm, stream driver.Handle) Result
	ReduceScatter(send, recv driver.Address, count int64, t DataType, op Op, c Comm, stream driver.Handle) Result
	Send(send driver.Address, count int64, t DataType, peer int, c Comm, stream driver.Handle) Result
	Recv(recv driver.Address, count int64, t DataType, peer int, c Comm, stream driver.Handle) Result

	// Finalize begins to end a communicator; it is over when AsyncError says Success, and Destroy gives it back then.
	Finalize(c Comm) Result
	Destroy(c Comm) Result
	// Abort ends whatever waits for other ranks, and gives the communicator back.
	Abort(c Comm) Result

	// Describe returns the library's text for a result, LastError what it has said last, "" where it says nothing.
	Describe(r Result) string
	LastError() string
}

// Error is a call that failed.
type Error struct {
	Call   string // the library's name of it
	Result Result
	Text   string // the library's explanation of the result
	Last   string // what it has said last
	Detail string // what was asked
}

// Error names the call and the result.
func (e *Error) Error() string {
	s := fmt.Sprintf("nccl: %s: %s (%d)", e.Call, e.Text, e.Result)
	if e.Last != "" {
		s += ": " + e.Last
	}
	if e.Detail != "" {
		s += "; " + e.Detail
	}
	return s
}

// Check makes an error of a result. A call that goes on has not failed.
func Check(api API, r Result, call, format string, args ...any) error {
	if r == Success || r == InProgress {
		return nil
	}
	e := &Error{Call: call, Result: r, Text: api.Describe(r), Last: api.LastError()}
	if format != "" {
		e.Detail = fmt.Sprintf(format, args...)
	}
	return e
}

// Version writes a version as people do, "2.29.7".
func Version(v int) string {
	if v < 10000 { // until 2.8
		return fmt.Sprintf("%d.%d.%d", v/1000, v%1000/100, v%100)
	}
	return fmt.Sprintf("%d.%d.%d", v/10000, v%10000/100, v%100)
}
