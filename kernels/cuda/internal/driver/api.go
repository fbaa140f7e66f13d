package driver

import "fmt"

// Result is the status of a call, CUresult.
type Result int32

// Results that are looked at.
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

// Handle is an object of the driver's: a context, stream, event, module, function or graph.
type Handle uint64

// Address is a place in a device's memory.
type Address uint64

// SharedMemory identifies memory of a device in other processes, CUipcMemHandle.
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

// DefaultShared is how many bytes of shared memory a block may have without [API].AllowShared.
const DefaultShared = 48 << 10

// Config is the shape of a launch.
type Config struct {
	Grid   [3]uint32
	Block  uint32 // threads
	Shared uint32 // bytes besides those of the kernel
	Maps   int    // parameters that are tensor maps: the last words of the arguments
	Stream Handle
}

// API is the driver. Calls that work on a context need it to be current on the thread; see [Device]. All may be called
// by many threads.
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
	// Trim gives the device's memory that was freed, and is kept for the next Alloc, back to the system.
	Trim(device int) Result
	// AllocShared takes memory that other processes can open, by its handle, FreeShared gives it back, and CloseShared
	// what OpenShared has opened. Handles of the same process cannot be opened.
	AllocShared(bytes int64) (Address, Result)
	FreeShared(a Address) Result
	SharedHandle(a Address) (SharedMemory, Result)
	OpenShared(h SharedMemory) (Address, Result)
	CloseShared(a Address) Result
	// HostAlloc returns memory that does not move and that the device can reach.
	HostAlloc(bytes int) ([]byte, Result)
	HostFree(memory []byte) Result
	// The copies continue after the call; host memory must come from HostAlloc.
	CopyToDevice(to Address, from []byte, stream Handle) Result
	CopyToHost(to []byte, from Address, stream Handle) Result
	CopyOnDevice(to, from Address, bytes int64, stream Handle) Result
	Fill(to Address, value byte, bytes int64, stream Handle) Result

	NewStream() (Handle, Result)
	DestroyStream(stream Handle) Result
	SynchronizeStream(stream Handle) Result
	// QueryStream is NotReady while there is work in the stream.
	QueryStream(stream Handle) Result
	NewEvent() (Handle, Result)
	// NewTimedEvent is an event that knows the time; Elapsed is that between two, in milliseconds, which are over.
	NewTimedEvent() (Handle, Result)
	Elapsed(begin, end Handle) (milliseconds float32, r Result)
	DestroyEvent(event Handle) Result
	RecordEvent(event, stream Handle) Result
	SynchronizeEvent(event Handle) Result
	QueryEvent(event Handle) Result
	// WaitEvent makes the stream wait for what the event was recorded behind last, also on another device.
	WaitEvent(stream, event Handle) Result

	// CanAccessPeer reports whether a device reaches the memory of another one directly.
	CanAccessPeer(device, peer int) (bool, Result)
	// AllowPeer lets a peer use the memory that Alloc takes on the owner.
	AllowPeer(owner, peer int) Result

	// LoadModule compiles PTX for the current context's device. The log says why it does not.
	LoadModule(text string) (module Handle, log string, r Result)
	// Assemble compiles PTX for the current context's device to what LoadBinary loads. Several may go on at once.
	Assemble(text string) (binary []byte, log string, r Result)
	LoadBinary(binary []byte) (module Handle, r Result)
	UnloadModule(module Handle) Result
	Function(module Handle, name string) (Handle, Result)
	// AllowShared lets launches of the function take so much shared memory, where that is more than DefaultShared.
	AllowShared(function Handle, bytes int) Result
	Launch(function Handle, c Config, args []uint64) Result
	// EncodeTensorMap describes memory to kernels that copy in bulk. Drivers before CUDA 12.0 cannot, which is
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
	Call   string // the driver's name of it
	Result Result
	Name   string // "CUDA_ERROR_OUT_OF_MEMORY"
	Text   string
	Detail string // what was asked
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
