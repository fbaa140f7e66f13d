//go:build linux

package driver

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"unsafe"

	"github.com/ebitengine/purego"
	"golang.org/x/sys/unix"
)

// places are the paths tried for the driver's library, first the loader's search path.
var places = []string{"libcuda.so.1", "/usr/lib/x86_64-linux-gnu/libcuda.so.1", "/usr/lib/aarch64-linux-gnu/libcuda.so.1", "/usr/local/nvidia/lib64/libcuda.so.1", "/usr/lib64/libcuda.so.1", "/usr/lib/wsl/lib/libcuda.so.1"}

// Open loads the driver. It searches the folders of GOKERAS_CUDA_PATH first.
func Open() (API, error) {
	var candidates []string
	for _, folder := range filepath.SplitList(os.Getenv("GOKERAS_CUDA_PATH")) {
		candidates = append(candidates, filepath.Join(folder, "libcuda.so.1"))
	}
	var failures []error
	for _, path := range append(candidates, places...) {
		l, err := purego.Dlopen(path, purego.RTLD_NOW|purego.RTLD_GLOBAL)
		if err != nil {
			failures = append(failures, err)
			continue
		}
		return bind(l, path)
	}
	return nil, fmt.Errorf("cuda: NVIDIA's driver is not installed: there is no libcuda.so.1 (%w)", failures[0])
}

// library is libcuda. Set-up calls go through typed functions; those of each step go through addresses, with their
// arguments in a reused slice.
type library struct {
	init                                                         func(uint32) Result
	driverGetVersion, deviceGetCount                             func(*int32) Result
	deviceGet                                                    func(*int32, int32) Result
	deviceGetName                                                func(*byte, int32, int32) Result
	deviceGetAttribute                                           func(*int32, int32, int32) Result
	deviceTotalMem                                               func(*uint64, int32) Result
	primaryRetain                                                func(*Handle, int32) Result
	primaryRelease                                               func(int32) Result
	memGetInfo                                                   func(*uint64, *uint64) Result
	memHostAlloc                                                 func(*unsafe.Pointer, uint64, uint32) Result
	memFreeHost                                                  func(unsafe.Pointer) Result
	streamCreate                                                 func(*Handle, uint32, int32) Result
	streamDestroy, eventDestroy, moduleUnload, graphDestroy, exe func(Handle) Result
	linkDestroy                                                  func(Handle) Result
	eventCreate                                                  func(*Handle, uint32) Result
	moduleLoad                                                   func(*Handle, *byte, uint32, *int32, *uintptr) Result
	moduleGetFunction                                            func(*Handle, Handle, *byte) Result
	linkCreate                                                   func(uint32, *int32, *uintptr, *Handle) Result
	linkAdd                                                      func(Handle, int32, *byte, uint64, *byte, uint32, *int32, *uintptr) Result
	linkComplete                                                 func(Handle, *unsafe.Pointer, *uint64) Result
	functionSet                                                  func(Handle, int32, int32) Result
	beginCapture                                                 func(Handle, int32) Result
	endCapture                                                   func(Handle, *Handle) Result
	instantiate                                                  func(*Handle, Handle, uint64) Result
	memAllocAsync                                                func(*Address, uint64, Handle) Result
	defaultPool                                                  func(*Handle, int32) Result
	poolSetAttribute                                             func(Handle, int32, *uint64) Result
	poolTrim                                                     func(Handle, uint64) Result
	poolSetAccess                                                func(Handle, *[3]int32, uint64) Result
	canAccessPeer                                                func(*int32, int32, int32) Result
	memAlloc                                                     func(*Address, uint64) Result
	memFree, sharedClose                                         func(Address) Result
	sharedHandle                                                 func(*SharedMemory, Address) Result
	sharedOpen                                                   func(*Address, struct{ bytes SharedMemory }, uint32) Result
	errorName, errorString                                       func(Result, **byte) Result

	eventElapsed func(*float32, Handle, Handle) Result
	encodeTiled  func(unsafe.Pointer, int32, uint32, Address, *uint64, *uint64, *uint32, *uint32, int32, int32, int32, int32) Result // nil if the driver does not have it

	hot [hotCalls]uintptr
	mu  sync.Mutex
	// block is memory that does not move, for what the driver reads through pointers: a launch's configuration and
	// arguments, and the pointers to them.
	block []uint64
	args  [hotCalls][]uintptr

	loading sync.Mutex // separate, because compiling takes long and launches must not wait for it
	log     []byte     // does not move
}

// logBytes is how much of the compiler's log is kept.
const logBytes = 8192

const (
	setCurrent = iota
	freeAsync
	toDevice
	toHost
	onDevice
	fill
	streamSynchronize
	streamQuery
	eventRecord
	eventSynchronize
	eventQuery
	streamWaitEvent
	launchKernel
	graphLaunch
	hotCalls
)

var hotNames = [hotCalls]string{"cuCtxSetCurrent", "cuMemFreeAsync", "cuMemcpyHtoDAsync_v2", "cuMemcpyDtoHAsync_v2", "cuMemcpyDtoDAsync_v2", "cuMemsetD8Async", "cuStreamSynchronize", "cuStreamQuery", "cuEventRecord", "cuEventSynchronize", "cuEventQuery", "cuStreamWaitEvent", "cuLaunchKernel", "cuGraphLaunch"}

// maxArgs is the largest number of kernel arguments supported here.
const maxArgs = 512

func bind(handle uintptr, path string) (API, error) {
	l := &library{}
	var missing []error
	for name, to := range map[string]any{
		"cuInit": &l.init, "cuDriverGetVersion": &l.driverGetVersion, "cuDeviceGetCount": &l.deviceGetCount, "cuDeviceGet": &l.deviceGet,
		"cuDeviceGetName": &l.deviceGetName, "cuDeviceGetAttribute": &l.deviceGetAttribute, "cuDeviceTotalMem_v2": &l.deviceTotalMem,
		"cuDevicePrimaryCtxRetain": &l.primaryRetain, "cuDevicePrimaryCtxRelease_v2": &l.primaryRelease, "cuMemGetInfo_v2": &l.memGetInfo,
		"cuMemHostAlloc": &l.memHostAlloc, "cuMemFreeHost": &l.memFreeHost, "cuStreamCreateWithPriority": &l.streamCreate,
		"cuStreamDestroy_v2": &l.streamDestroy, "cuEventDestroy_v2": &l.eventDestroy, "cuModuleUnload": &l.moduleUnload, "cuGraphDestroy": &l.graphDestroy,
		"cuGraphExecDestroy": &l.exe, "cuEventCreate": &l.eventCreate, "cuEventElapsedTime": &l.eventElapsed, "cuModuleLoadDataEx": &l.moduleLoad, "cuModuleGetFunction": &l.moduleGetFunction, "cuFuncSetAttribute": &l.functionSet,
		"cuLinkCreate_v2": &l.linkCreate, "cuLinkAddData_v2": &l.linkAdd, "cuLinkComplete": &l.linkComplete, "cuLinkDestroy": &l.linkDestroy,
		"cuStreamBeginCapture_v2": &l.beginCapture, "cuStreamEndCapture": &l.endCapture, "cuGraphInstantiateWithFlags": &l.instantiate,
		"cuMemAllocAsync": &l.memAllocAsync, "cuDeviceGetDefaultMemPool": &l.defaultPool, "cuMemPoolSetAttribute": &l.poolSetAttribute, "cuMemPoolTrimTo": &l.poolTrim,
		"cuMemPoolSetAccess": &l.poolSetAccess, "cuDeviceCanAccessPeer": &l.canAccessPeer,
		"cuMemAlloc_v2": &l.memAlloc, "cuMemFree_v2": &l.memFree, "cuIpcGetMemHandle": &l.sharedHandle, "cuIpcOpenMemHandle_v2": &l.sharedOpen, "cuIpcCloseMemHandle": &l.sharedClose,
		"cuGetErrorName": &l.errorName, "cuGetErrorString": &l.errorString,
	} {
		symbol, err := purego.Dlsym(handle, name)
		if err != nil {
			missing = append(missing, err)
			continue
		}
		purego.RegisterFunc(to, symbol)
	}
	if symbol, err := purego.Dlsym(handle, "cuTensorMapEncodeTiled"); err == nil {
		purego.RegisterFunc(&l.encodeTiled, symbol)
	}
	for i, name := range hotNames {
		symbol, err := purego.Dlsym(handle, name)
		missing = append(missing, err)
		l.hot[i] = symbol
		l.args[i] = make([]uintptr, 11)
	}
	if err := errors.Join(missing...); err != nil {
		return nil, fmt.Errorf("cuda: the driver %s is too old; install one for CUDA %s or later (%w)", path, Version(MinimumVersion), err)
	}
	memory, err := unix.Mmap(-1, 0, 16*maxArgs+logBytes, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		return nil, fmt.Errorf("cuda: memory for arguments: %w", err)
	}
	l.block = unsafe.Slice((*uint64)(unsafe.Pointer(&memory[0])), 2*maxArgs)
	l.log = memory[16*maxArgs:]
	return l, nil
}

// call makes one of the calls of each step. It does not allocate, unless it waits for the device.
func (l *library) call(which int, args ...uintptr) Result {
	if which == streamSynchronize || which == eventSynchronize { // waiting must not block other calls
		one := []uintptr{args[0]}
		r, _, _ := purego.SyscallN(l.hot[which], one...)
		return Result(int32(r))
	}
	l.mu.Lock()
	kept := l.args[which][:len(args)]
	copy(kept, args)
	r, _, _ := purego.SyscallN(l.hot[which], kept...)
	l.mu.Unlock()
	return Result(int32(r))
}

func (l *library) Init() Result { return l.init(0) }

func (l *library) Version() (int, Result) {
	var v int32
	r := l.driverGetVersion(&v)
	return int(v), r
}

func (l *library) DeviceCount() (int, Result) {
	var n int32
	r := l.deviceGetCount(&n)
	return int(n), r
}

func (l *library) ordinal(device int) (int32, Result) {
	var d int32
	r := l.deviceGet(&d, int32(device))
	return d, r
}

func (l *library) DeviceName(device int) (string, Result) {
	d, r := l.ordinal(device)
	if r != Success {
		return "", r
	}
	name := make([]byte, 256)
	r = l.deviceGetName(&name[0], int32(len(name)), d)
	return unix.ByteSliceToString(name), r
}

func (l *library) DeviceAttribute(attribute, device int) (int, Result) {
	d, r := l.ordinal(device)
	if r != Success {
		return 0, r
	}
	var v int32
	r = l.deviceGetAttribute(&v, int32(attribute), d)
	return int(v), r
}

func (l *library) DeviceMemory(device int) (int64, Result) {
	d, r := l.ordinal(device)
	if r != Success {
		return 0, r
	}
	var n uint64
	r = l.deviceTotalMem(&n, d)
	return int64(n), r
}

// RetainContext also sets the device's pool to keep all freed memory.
func (l *library) RetainContext(device int) (Handle, Result) {
	d, r := l.ordinal(device)
	if r != Success {
		return 0, r
	}
	var c, pool Handle
	if r = l.primaryRetain(&c, d); r != Success {
		return 0, r
	}
	if l.defaultPool(&pool, d) == Success {
		const releaseThreshold = 4
		all := ^uint64(0)
		l.poolSetAttribute(pool, releaseThreshold, &all) // if it fails, memory is returned at each synchronization, which is only slower
	}
	return c, r
}

func (l *library) ReleaseContext(device int) Result {
	d, r := l.ordinal(device)
	if r != Success {
		return r
	}
	return l.primaryRelease(d)
}

func (l *library) SetContext(c Handle) Result { return l.call(setCurrent, uintptr(c)) }

func (l *library) MemoryInfo() (free, total int64, r Result) {
	var a, b uint64
	r = l.memGetInfo(&a, &b)
	return int64(a), int64(b), r
}

func (l *library) Alloc(bytes int64, stream Handle) (Address, Result) {
	var a Address
	r := l.memAllocAsync(&a, uint64(bytes), stream)
	return a, r
}

func (l *library) Free(a Address, stream Handle) Result {
	return l.call(freeAsync, uintptr(a), uintptr(stream))
}

func (l *library) Trim(device int) Result {
	d, r := l.ordinal(device)
	if r != Success {
		return r
	}
	var pool Handle
	if r = l.defaultPool(&pool, d); r != Success {
		return r
	}
	return l.poolTrim(pool, 0)
}

func (l *library) AllocShared(bytes int64) (Address, Result) {
	var a Address
	r := l.memAlloc(&a, uint64(bytes))
	return a, r
}

func (l *library) FreeShared(a Address) Result { return l.memFree(a) }

func (l *library) SharedHandle(a Address) (SharedMemory, Result) {
	var h SharedMemory
	r := l.sharedHandle(&h, a)
	return h, r
}

// OpenShared also opens memory of other devices that this one can access.
func (l *library) OpenShared(h SharedMemory) (Address, Result) {
	const lazyEnablePeerAccess = 1
	var a Address
	r := l.sharedOpen(&a, struct{ bytes SharedMemory }{h}, lazyEnablePeerAccess)
	return a, r
}

func (l *library) CloseShared(a Address) Result { return l.sharedClose(a) }

func (l *library) HostAlloc(bytes int) ([]byte, Result) {
	var p unsafe.Pointer
	const portable = 1
	if r := l.memHostAlloc(&p, uint64(bytes), portable); r != Success {
		return nil, r
	}
	return unsafe.Slice((*byte)(p), bytes), Success
}

func (l *library) HostFree(memory []byte) Result { return l.memFreeHost(unsafe.Pointer(&memory[0])) }

func pointer(memory []byte) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(memory))) }

func (l *library) CopyToDevice(to Address, from []byte, stream Handle) Result {
	return l.call(toDevice, uintptr(to), pointer(from), uintptr(len(from)), uintptr(stream))
}

func (l *library) CopyToHost(to []byte, from Address, stream Handle) Result {
	return l.call(toHost, pointer(to), uintptr(from), uintptr(len(to)), uintptr(stream))
}

func (l *library) CopyOnDevice(to, from Address, bytes int64, stream Handle) Result {
	return l.call(onDevice, uintptr(to), uintptr(from), uintptr(bytes), uintptr(stream))
}

func (l *library) Fill(to Address, value byte, bytes int64, stream Handle) Result {
	return l.call(fill, uintptr(to), uintptr(value), uintptr(bytes), uintptr(stream))
}

func (l *library) NewStream() (Handle, Result) {
	var s Handle
	const nonBlocking = 1
	r := l.streamCreate(&s, nonBlocking, 0)
	return s, r
}

func (l *library) DestroyStream(s Handle) Result     { return l.streamDestroy(s) }
func (l *library) SynchronizeStream(s Handle) Result { return l.call(streamSynchronize, uintptr(s)) }

func (l *library) QueryStream(s Handle) Result { return l.call(streamQuery, uintptr(s)) }

func (l *library) NewEvent() (Handle, Result) {
	var e Handle
	const noTiming = 2
	r := l.eventCreate(&e, noTiming)
	return e, r
}

func (l *library) NewTimedEvent() (Handle, Result) {
	var e Handle
	r := l.eventCreate(&e, 0)
	return e, r
}

func (l *library) Elapsed(begin, end Handle) (float32, Result) {
	var ms float32
	r := l.eventElapsed(&ms, begin, end)
	return ms, r
}

func (l *library) DestroyEvent(e Handle) Result { return l.eventDestroy(e) }
func (l *library) RecordEvent(e, s Handle) Result {
	return l.call(eventRecord, uintptr(e), uintptr(s))
}
func (l *library) SynchronizeEvent(e Handle) Result { return l.call(eventSynchronize, uintptr(e)) }
func (l *library) QueryEvent(e Handle) Result       { return l.call(eventQuery, uintptr(e)) }
func (l *library) WaitEvent(s, e Handle) Result {
	return l.call(streamWaitEvent, uintptr(s), uintptr(e), 0)
}

func (l *library) CanAccessPeer(device, peer int) (bool, Result) {
	a, r := l.ordinal(device)
	if r != Success {
		return false, r
	}
	b, r := l.ordinal(peer)
	if r != Success {
		return false, r
	}
	var can int32
	r = l.canAccessPeer(&can, a, b)
	return can != 0, r
}

// AllowPeer opens the owner's memory pool. Peer access between contexts (cuCtxEnablePeerAccess) does not apply to
// pools.
func (l *library) AllowPeer(owner, peer int) Result {
	a, r := l.ordinal(owner)
	if r != Success {
		return r
	}
	b, r := l.ordinal(peer)
	if r != Success {
		return r
	}
	var pool Handle
	if r = l.defaultPool(&pool, a); r != Success {
		return r
	}
	const onDevice, readAndWrite = 1, 3
	return l.poolSetAccess(pool, &[3]int32{onDevice, b, readAndWrite}, 1) // CUmemAccessDesc
}

// Launch copies the arguments to memory that does not move; the driver has copied them when it returns.
func (l *library) Launch(f Handle, c Config, args []uint64) Result {
	if len(args) > maxArgs {
		return InvalidValue
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	pointers, values := l.block[:maxArgs], l.block[maxArgs:2*maxArgs]
	copy(values, args)
	n := 0
	for at := 0; at < len(args); n++ {
		pointers[n] = uint64(uintptr(unsafe.Pointer(&values[at])))
		if at++; at > len(args)-c.Maps*TensorMapWords {
			at += TensorMapWords - 1
		}
	}
	k := l.args[launchKernel][:11]
	k[0] = uintptr(f)
	k[1], k[2], k[3] = uintptr(c.Grid[0]), uintptr(c.Grid[1]), uintptr(c.Grid[2])
	k[4], k[5], k[6] = uintptr(c.Block), 1, 1
	k[7], k[8] = uintptr(c.Shared), uintptr(c.Stream)
	k[9], k[10] = uintptr(unsafe.Pointer(&pointers[0])), 0
	r, _, _ := purego.SyscallN(l.hot[launchKernel], k...)
	return Result(int32(r))
}

func (l *library) BeginCapture(s Handle) Result {
	const threadLocal = 1
	return l.beginCapture(s, threadLocal)
}

func (l *library) EndCapture(s Handle) (Handle, Result) {
	var g Handle
	r := l.endCapture(s, &g)
	return g, r
}

func (l *library) Instantiate(g Handle) (Handle, Result) {
	var e Handle
	r := l.instantiate(&e, g, 0)
	return e, r
}

func (l *library) LaunchGraph(e, s Handle) Result {
	return l.call(graphLaunch, uintptr(e), uintptr(s))
}
func (l *library) DestroyGraph(g Handle) Result      { return l.graphDestroy(g) }
func (l *library) DestroyExecutable(e Handle) Result { return l.exe(e) }

func (l *library) Describe(r Result) (name, text string) {
	read := func(f func(Result, **byte) Result) string {
		var p *byte
		if f(r, &p) != Success || p == nil {
			return ""
		}
		return unix.BytePtrToString(p)
	}
	if name = read(l.errorName); name == "" {
		name = "unknown error"
	}
	return name, read(l.errorString)
}
