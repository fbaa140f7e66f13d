package nccl

import (
	"fmt"

	"github.com/gokeras/gokeras/kernels/cuda/internal/driver"
	"github.com/gokeras/gokeras/kernels/ir"
)

// MinimumVersion is the oldest supported version of NCCL, in its own encoding: 2.14, the first with nonblocking
// communicators.
const MinimumVersion = 21400

// Result is the library's status code, ncclResult_t.
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

// ID is what ranks need to connect. One of them draws it and sends it to the others.
type ID [IDBytes]byte

// DataType is an element type, ncclDataType_t.
type DataType int32

// The element types.
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

// TypeOf returns the library's element type; false if it has none.
func TypeOf(d ir.DType) (DataType, bool) {
	t, ok := map[ir.DType]DataType{
		ir.Int8: Int8, ir.Uint8: Uint8, ir.Int32: Int32, ir.Uint32: Uint32, ir.Int64: Int64, ir.Uint64: Uint64,
		ir.Float16: Float16, ir.Float32: Float32, ir.Float64: Float64, ir.BFloat16: BFloat16,
	}[d]
	return t, ok
}

// Op is a reduction, ncclRedOp_t.
type Op int32

// The reductions.
const (
	Sum Op = iota
	Prod
	Max
	Min
	Avg
)

// OpOf returns the library's reduction for a kind; false if it has none. It has no mean, because ncclAvg rounds each
// operand.
func OpOf(k ir.Kind) (Op, bool) {
	op, ok := map[ir.Kind]Op{ir.Sum: Sum, ir.Prod: Prod, ir.Max: Max, ir.Min: Min}[k]
	return op, ok
}

// API is the library. Calls on a communicator require its device's context to be current on the thread, and those
// between GroupStart and GroupEnd must be on one thread.
type API interface {
	Version() (int, Result)
	UniqueID() (ID, Result)
	// InitRank starts connecting one of several ranks and sets c at once. No other call may use c until AsyncError says
	// that it is connected.
	InitRank(c *Comm, ranks int, id ID, rank int) Result
	// AsyncError returns InProgress while a call is in progress, else the state of the communicator.
	AsyncError(c Comm) (state, r Result)
	GroupStart() Result
	GroupEnd() Result

	AllReduce(send, recv driver.Address, count int64, t DataType, op Op, c Comm, stream driver.Handle) Result
	Broadcast(send, recv driver.Address, count int64, t DataType, root int, c Comm, stream driver.Handle) Result
	Reduce(send, recv driver.Address, count int64, t DataType, op Op, root int, c Comm, stream driver.Handle) Result
	// The counts of AllGather and ReduceScatter are those of one rank.
	AllGather(send, recv driver.Address, count int64, t DataType, c Comm, stream driver.Handle) Result
	ReduceScatter(send, recv driver.Address, count int64, t DataType, op Op, c Comm, stream driver.Handle) Result
	Send(send driver.Address, count int64, t DataType, peer int, c Comm, stream driver.Handle) Result
	Recv(recv driver.Address, count int64, t DataType, peer int, c Comm, stream driver.Handle) Result

	// Finalize starts shutting down a communicator. When AsyncError returns Success it is done, and Destroy frees it.
	Finalize(c Comm) Result
	Destroy(c Comm) Result
	// Abort ends all waits for other ranks, and frees the communicator.
	Abort(c Comm) Result

	// Describe returns the library's text for a result, LastError its last message, or "".
	Describe(r Result) string
	LastError() string
}

// Error is a call that failed.
type Error struct {
	Call   string // the library's name for it
	Result Result
	Text   string // the library's text for the result
	Last   string // the library's last message
	Detail string // what the call was for
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

// Check converts a result to an error. InProgress is not an error.
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

// Version formats a version: "2.29.7".
func Version(v int) string {
	if v < 10000 { // the encoding before 2.9
		return fmt.Sprintf("%d.%d.%d", v/1000, v%1000/100, v%100)
	}
	return fmt.Sprintf("%d.%d.%d", v/10000, v%10000/100, v%100)
}
