package driver

import "fmt"

// Result is the driver's status code, CUresult.
type Result int32

// The results that callers distinguish.
const (
	Success            Result = 0
	InvalidValue       Result = 1
	OutOfMemory        Result = 2
	NoDevice           Result = 100
	InvalidContext     Result = 201
	NoBinary           Result = 209
	UnsupportedPTX     Result = 222
	NotFound           Result = 500
	NotReady           Result = 600
	IllegalAddress     Result = 700
	LaunchFailed       Result = 719
	DeviceUnavailable  Result = 46
	SystemNotReady     Result = 802
	VersionMismatch    Result = 803
	NoPermission       Result = 800
	CaptureInvalidate  Result = 901
	CaptureUnjoined    Result = 904
	CaptureIsolation   Result = 905
	CaptureWrongThread Result = 908
)

// Handle refers to an object of the driver: a context, stream, event, module, function or graph.
type Handle uint64

// Address is an address in a device's memory.
type Address uint64

// SharedMemory identifies a device's memory in other processes, CUipcMemHandle.
type SharedMemory [64]byte

// Device attributes.
const (
	AttributeProcessors   = 16
	AttributeDomain       = 50
	AttributeMajor        = 75
	AttributeMinor        = 76
	AttributeMemoryPools  = 115
	AttributeClock        = 13
	AttributeBus          = 33
	AttributeBusDevice    = 34
	AttributeMemoryClock  = 36
	AttributeMemoryWidth  = 37
	AttributeIntegratedIs = 18
)

// DefaultShared is how many bytes of shared memory a block may use without [API].AllowShared.
const DefaultShared = 48 << 10

// Config is the configuration of a launch.
type Config struct {
	Grid   [3]uint32
	Block  uint32 // threads
	Shared uint32 // bytes, in addition to those the kernel declares
	Maps   int    // number of parameters that are tensor maps; they are the last words of the arguments
	Stream Handle
}

// API is the driver. Methods that work on a context require it to be current on the thread; see [Device]. All methods
// may be called concurrently.
type API interface {
	Init() Result
	Version() (int, Result)
	DeviceCount() (int, Result)
	DeviceName(device int) (string, Result)
	DeviceAttribute(attribute, device int) (int, Result)
	DeviceMemory(device int) (int64, Result)

	RetainContext(device int) (Handle, Result)
	ReleaseContext(device int) Result
	SetContext(context Handle) Result

	MemoryInfo() (free, total int64, r Result)
	Alloc(bytes int64, stream Handle) (Address, Result)
	Free(a Address, stream Handle) Result
	// Trim returns freed device memory, which the driver keeps for later allocations, to the system.
	Trim(device int) Result
	// AllocShared allocates memory that other processes can open by its handle, and FreeShared frees it. CloseShared
	// closes what OpenShared has opened. A process cannot open its own handles.
	AllocShared(bytes int64) (Address, Result)
	FreeShared(a Address) Result
	SharedHandle(a Address) (SharedMemory, Result)
	OpenShared(h SharedMemory) (Address, Result)
	CloseShared(a Address) Result
	// HostAlloc allocates page-locked host memory, which the device can access.
	HostAlloc(bytes int) ([]byte, Result)
	HostFree(memory []byte) Result
	// The copies are asynchronous; host memory must come from HostAlloc.
	CopyToDevice(to Address, from []byte, stream Handle) Result
	CopyToHost(to []byte, from Address, stream Handle) Result
	CopyOnDevice(to, from Address, bytes int64, stream Handle) Result
	Fill(to Address, value byte, bytes int64, stream Handle) Result

	NewStream() (Handle, Result)
	DestroyStream(stream Handle) Result
	SynchronizeStream(stream Handle) Result
	// QueryStream returns NotReady while work is pending in the stream.
	QueryStream(stream Handle) Result
	NewEvent() (Handle, Result)
	// NewTimedEvent creates an event with a timestamp. Elapsed returns the milliseconds between two completed ones.
	NewTimedEvent() (Handle, Result)
	Elapsed(begin, end Handle) (milliseconds float32, r Result)
	DestroyEvent(event Handle) Result
	RecordEvent(event, stream Handle) Result
	SynchronizeEvent(event Handle) Result
	QueryEvent(event Handle) Result
	// WaitEvent makes the stream wait until the event's last recording has completed, also on another device.
	WaitEvent(stream, event Handle) Result

	// CanAccessPeer reports whether a device can access another one's memory directly.
	CanAccessPeer(device, peer int) (bool, Result)
	// AllowPeer lets a peer access memory that Alloc allocates on the owner.
	AllowPeer(owner, peer int) Result

	// LoadModule compiles PTX for the current context's device. If that fails, the log says why.
	LoadModule(text string) (module Handle, log string, r Result)
	// Assemble compiles PTX for the current context's device to a binary for LoadBinary. It may be called concurrently.
	Assemble(text string) (binary []byte, log string, r Result)
	LoadBinary(binary []byte) (module Handle, r Result)
	UnloadModule(module Handle) Result
	Function(module Handle, name string) (Handle, Result)
	// AllowShared lets launches of the function use more than DefaultShared bytes of shared memory.
	AllowShared(function Handle, bytes int) Result
	Launch(function Handle, c Config, args []uint64) Result
	// EncodeTensorMap describes memory for kernels that make bulk copies. With drivers before CUDA 12.0 it returns
	// NotFound.
	EncodeTensorMap(a Address, t Tiled) (TensorMap, Result)

	BeginCapture(stream Handle) Result
	EndCapture(stream Handle) (graph Handle, r Result)
	Instantiate(graph Handle) (executable Handle, r Result)
	LaunchGraph(executable, stream Handle) Result
	DestroyGraph(graph Handle) Result
	DestroyExecutable(executable Handle) Result

	// Describe returns the name and the explanation of a result.
	Describe(r Result) (name, text string)
}

// Error is a call that failed.
type Error struct {
	Call   string // the driver's name for it
	Result Result
	Name   string // "CUDA_ERROR_OUT_OF_MEMORY"
	Text   string
	Detail string // what the call was for
}

// Error names the call and the result.
func (e *Error) Error() string {
	s := fmt.Sprintf("cuda: %s: %s (%d)", e.Call, e.Name, e.Result)
	if e.Text != "" {
		s += ": " + e.Text
	}
	if e.Detail != "" {
		s += "; " + e.Detail
	}
	return s
}
