package kernels

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/gokeras/gokeras/kernels/ir"
)

// Device names one place that can hold buffers and run programs.
type Device struct {
	Kind  string // "cpu", "gpu", "tpu"
	Index int
}

// String returns the usual spelling, "cpu:0".
func (d Device) String() string { return d.Kind + ":" + strconv.Itoa(d.Index) }

// ParseDevice reads "cpu:0", "CPU:0", "/cpu:0", "/device:CPU:0" and "cpu" (index 0).
func ParseDevice(name string) (Device, error) {
	s := strings.TrimPrefix(strings.TrimPrefix(strings.ToLower(name), "/"), "device:")
	kind, index, found := strings.Cut(s, ":")
	n := 0
	if found {
		var err error
		if n, err = strconv.Atoi(index); err != nil || n < 0 {
			return Device{}, fmt.Errorf("kernels: device %q: the index after the colon must be a number from 0, as in \"cpu:0\"", name)
		}
	}
	if kind == "" || strings.ContainsAny(kind, "/:") {
		return Device{}, fmt.Errorf("kernels: device %q: expected a form like \"cpu:0\" or \"gpu:1\"", name)
	}
	return Device{kind, n}, nil
}

// Buffer is the memory of one value on one device: dense, row-major elements of a fixed type.
type Buffer interface {
	Type() ir.Type
	Device() Device
	// Write copies len(src) bytes (all of the buffer) from host memory; little endian, row-major.
	Write(src []byte) error
	// Read copies the whole buffer to host memory.
	Read(dst []byte) error
	// Bytes returns the host memory that backs the buffer, or nil when it lives elsewhere. Callers may write it while no
	// program that uses the buffer runs.
	Bytes() []byte
	// Free gives the memory back; the buffer must not be used afterwards.
	Free()
}

// CompileOptions say how a program will be run.
type CompileOptions struct {
	Device Device
	// Replica and Replicas place this instance among its peers; Comm connects them (nil when Replicas is 1).
	Replica, Replicas int
	Comm              Communicator
}

// Borrower is implemented by buffers in host memory that can stand for memory of the caller's, so that inputs need not be copied.
type Borrower interface {
	Buffer
	// Borrow makes the buffer use the given memory, which must be as long and must not change while a program runs; a program reads
	// it and does not write it. nil, and Write, bring the buffer's own memory back.
	Borrow(memory []byte) error
}

// Exchanger is implemented by buffers that can trade memory with another one, so that a value computed beside the current one takes its
// place without a copy.
type Exchanger interface {
	Buffer
	// Exchange swaps the contents of two buffers of one type and device. No program that uses either may be running.
	Exchange(other Buffer) error
}

// Executable is a compiled program with the memory for its intermediate values. It runs one call at a time.
type Executable interface {
	// Run reads one buffer for each input and writes one for each output, in program order. An output that replaces an
	// input is written into that input's buffer when outputs has nil there; otherwise the given buffer is written. Buffers
	// must have the program's types. ctx ends waiting for other replicas, not a computation that has begun.
	Run(ctx context.Context, inputs, outputs []Buffer) error
	// Stats describes what was compiled.
	Stats() Stats
	// Close frees the memory.
	Close()
}

// Stats describe a compiled program.
type Stats struct {
	Nodes      int   // nodes of the program
	Steps      int   // scheduled operations after fusion
	ArenaBytes int64 // memory for intermediate values
}

// Backend compiles programs for its devices.
type Backend interface {
	// Kind is the device kind it serves, "cpu".
	Kind() string
	// Devices lists what is usable now. Logical devices that need nothing (any "cpu:n") need not be listed.
	Devices() []Device
	// Open reports an error when the device does not exist or cannot be used.
	Open(d Device) error
	// NewBuffer allocates memory filled with zeros.
	NewBuffer(d Device, t ir.Type) (Buffer, error)
	Compile(p *ir.Program, o CompileOptions) (Executable, error)
	// NewCommunicators connects one replica on each of the given devices within this process, one communicator a replica.
	NewCommunicators(devices []Device) ([]Communicator, error)
}

// Communicator lets one replica combine values with its peers. All replicas call the same operations in the same order.
// Implementations combine in replica order, so that all replicas get the same bits. Run of the executable drives it; when
// one replica fails, Abort wakes the others with its error.
type Communicator interface {
	Replica() int
	Replicas() int
	// AllReduce combines values (host memory or device memory of the replica's backend) in place.
	AllReduce(ctx context.Context, kind ir.Kind, values []Buffer) error
	// AllGather concatenates equal-sized parts in replica order.
	AllGather(ctx context.Context, part, whole Buffer, axis int) error
	// Broadcast copies the root's value to all.
	Broadcast(ctx context.Context, root int, value Buffer) error
	// Abort makes current and later calls of all replicas return err, until Reset.
	Abort(err error)
	Reset()
}

// Overlapper is implemented by communicators whose all-reduces go on while the replica computes. Backends use it to start the sum of a
// bucket of gradients as soon as these exist, and to wait for it when the sums are needed.
type Overlapper interface {
	Communicator
	// StartAllReduce begins what AllReduce does and returns without waiting for the other replicas. Until the wait for it has returned,
	// the replica must leave values and their memory alone. It counts as a call where the order of calls matters. Where too many
	// are under way, it waits for the oldest.
	StartAllReduce(ctx context.Context, kind ir.Kind, values []Buffer) error
	// WaitAllReduce returns when the oldest all-reduce that was started and not waited for is complete.
	WaitAllReduce(ctx context.Context) error
}

var registry = struct {
	sync.RWMutex
	backends map[string]Backend
}{backends: map[string]Backend{}}

// Register makes a backend available; it panics when its kind is taken, as database/sql does.
func Register(b Backend) {
	registry.Lock()
	defer registry.Unlock()
	if _, taken := registry.backends[b.Kind()]; taken {
		panic("kernels: Register called twice for " + b.Kind())
	}
	registry.backends[b.Kind()] = b
}

// Lookup returns the backend for a device kind.
func Lookup(kind string) (Backend, error) {
	registry.RLock()
	defer registry.RUnlock()
	b, ok := registry.backends[kind]
	if !ok {
		known := make([]string, 0, len(registry.backends))
		for k := range registry.backends {
			known = append(known, k)
		}
		slices.Sort(known)
		return nil, fmt.Errorf("kernels: no backend for device kind %q is linked into this program; it has: %s", kind, strings.Join(known, ", "))
	}
	return b, nil
}

// Devices lists the devices of all backends, sorted by kind and index.
func Devices() []Device {
	registry.RLock()
	defer registry.RUnlock()
	var all []Device
	for _, b := range registry.backends {
		all = append(all, b.Devices()...)
	}
	slices.SortFunc(all, func(a, b Device) int {
		if c := strings.Compare(a.Kind, b.Kind); c != 0 {
			return c
		}
		return a.Index - b.Index
	})
	return all
}

// Array is a dense, row-major, little-endian value in host memory.
type Array struct {
	Type ir.Type
	Data []byte
}

// NewArray returns zeros.
func NewArray(t ir.Type) Array { return Array{t, make([]byte, t.Bytes())} }

// At returns element i (row-major) as a float64.
func (a Array) At(i int) float64 { return ir.Element(a.Data, a.Type.DType, i) }

// Float64s returns all elements as float64.
func (a Array) Float64s() []float64 {
	out := make([]float64, a.Type.Shape.Size())
	for i := range out {
		out[i] = a.At(i)
	}
	return out
}

// FromFloat64s returns an array of the given type with the given elements; see [ir.Floats] for the conversion.
func FromFloat64s(dtype ir.DType, shape ir.Shape, values []float64) (Array, error) {
	l, err := ir.Floats(dtype, shape, values)
	return Array{l.Type, l.Data}, err
}

// Rows returns elements from to until-1 of the first axis; they share the array's memory.
func (a Array) Rows(from, until int) Array {
	row := 0
	if n := a.Type.Shape[0]; n > 0 {
		row = len(a.Data) / n
	}
	shape := a.Type.Shape.Clone()
	shape[0] = until - from
	return Array{ir.Type{DType: a.Type.DType, Shape: shape}, a.Data[from*row : until*row]}
}
