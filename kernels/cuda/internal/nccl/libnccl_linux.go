package nccl

import (
	"errors"
	"fmt"
	"sync"
	"unsafe"

	"github.com/ebitengine/purego"
	"golang.org/x/sys/unix"

	"github.com/gokeras/gokeras/kernels/cuda/internal/driver"
	"github.com/gokeras/gokeras/kernels/cuda/internal/libraries"
)

// file is the library's file name.
const file = "libnccl.so.2"

// Missing is the part of [Open]'s error that says what to do if the library is missing.
const Missing = "install NVIDIA's NCCL (the package libnccl2, or nvidia-nccl of Python), or name the folder of libnccl.so.2 in GOKERAS_CUDA_PATH"

// Open loads the library.
func Open() (API, error) {
	var failures []error
	for _, path := range libraries.Places(file, "nccl") {
		l, err := purego.Dlopen(path, purego.RTLD_NOW|purego.RTLD_LOCAL)
		if err == nil {
			return bind(l, path)
		}
		failures = append(failures, err)
	}
	return nil, fmt.Errorf("nccl: there is no %s; %s (%w)", file, Missing, failures[0])
}

// config is the beginning of ncclConfig_t, up to the fields of version 2.14. The library fills in the rest according to
// size and version.
type config struct {
	size     uint64
	magic    uint32
	version  uint32
	blocking int32
	_        int32
}

// library is libnccl. Set-up calls go through typed functions; those of each step go through addresses, with their
// arguments in a reused slice.
type library struct {
	getVersion               func(*int32) Result
	getUniqueID              func(*ID) Result
	initRank                 func(*Comm, int32, struct{ ID ID }, int32, *config) Result
	finalize, destroy, abort func(Comm) Result
	errorString              func(Result) *byte
	lastError                func(Comm) *byte

	hot [hotCalls]uintptr

	mu    sync.Mutex // guards the fields below
	args  [hotCalls][]uintptr
	state int32
}

const (
	groupStart = iota
	groupEnd
	asyncError
	allReduce
	broadcast
	reduce
	allGather
	reduceScatter
	send
	recv
	hotCalls
)

var hotNames = [hotCalls]string{"ncclGroupStart", "ncclGroupEnd", "ncclCommGetAsyncError", "ncclAllReduce", "ncclBroadcast", "ncclReduce", "ncclAllGather", "ncclReduceScatter", "ncclSend", "ncclRecv"}

func bind(handle uintptr, path string) (API, error) {
	l := &library{}
	var missing []error
	for name, to := range map[string]any{
		"ncclGetVersion": &l.getVersion, "ncclGetUniqueId": &l.getUniqueID, "ncclCommInitRankConfig": &l.initRank, "ncclCommFinalize": &l.finalize,
		"ncclCommDestroy": &l.destroy, "ncclCommAbort": &l.abort, "ncclGetErrorString": &l.errorString, "ncclGetLastError": &l.lastError,
	} {
		symbol, err := purego.Dlsym(handle, name)
		if err != nil {
			missing = append(missing, err)
			continue
		}
		purego.RegisterFunc(to, symbol)
	}
	for i, name := range hotNames {
		symbol, err := purego.Dlsym(handle, name)
		missing = append(missing, err)
		l.hot[i] = symbol
		l.args[i] = make([]uintptr, 8)
	}
	err := errors.Join(missing...)
	version := 0
	if l.getVersion != nil {
		version, _ = l.Version()
	}
	if err != nil || version < MinimumVersion {
		return nil, fmt.Errorf("nccl: %s is version %s, which is too old; install %s or later (%w)", path, Version(version), Version(MinimumVersion), errors.Join(err, errors.ErrUnsupported))
	}
	return l, nil
}

// call makes one of the calls of each step. It does not allocate.
func (l *library) call(which int, args ...uintptr) Result {
	l.mu.Lock()
	defer l.mu.Unlock()
	kept := l.args[which][:len(args)]
	copy(kept, args)
	r, _, _ := purego.SyscallN(l.hot[which], kept...)
	return Result(int32(r))
}

func (l *library) Version() (int, Result) {
	var v int32
	r := l.getVersion(&v)
	return int(v), r
}

func (l *library) UniqueID() (ID, Result) {
	var id ID
	r := l.getUniqueID(&id)
	return id, r
}

func (l *library) InitRank(c *Comm, ranks int, id ID, rank int) Result {
	const magic = 0xcafebeef
	o := &config{size: uint64(unsafe.Sizeof(config{})), magic: magic, version: MinimumVersion, blocking: 0}
	return l.initRank(c, int32(ranks), struct{ ID ID }{id}, int32(rank), o)
}

func (l *library) AsyncError(c Comm) (state, r Result) {
	l.mu.Lock()
	defer l.mu.Unlock()
	kept := l.args[asyncError][:2]
	kept[0], kept[1] = uintptr(c), uintptr(unsafe.Pointer(&l.state)) // heap memory does not move
	code, _, _ := purego.SyscallN(l.hot[asyncError], kept...)
	return Result(l.state), Result(int32(code))
}

func (l *library) GroupStart() Result { return l.call(groupStart) }
func (l *library) GroupEnd() Result   { return l.call(groupEnd) }

func (l *library) AllReduce(send, recv driver.Address, count int64, t DataType, op Op, c Comm, stream driver.Handle) Result {
	return l.call(allReduce, uintptr(send), uintptr(recv), uintptr(count), uintptr(t), uintptr(op), uintptr(c), uintptr(stream))
}

func (l *library) Broadcast(send, recv driver.Address, count int64, t DataType, root int, c Comm, stream driver.Handle) Result {
	return l.call(broadcast, uintptr(send), uintptr(recv), uintptr(count), uintptr(t), uintptr(root), uintptr(c), uintptr(stream))
}

func (l *library) Reduce(send, recv driver.Address, count int64, t DataType, op Op, root int, c Comm, stream driver.Handle) Result {
	return l.call(reduce, uintptr(send), uintptr(recv), uintptr(count), uintptr(t), uintptr(op), uintptr(root), uintptr(c), uintptr(stream))
}

func (l *library) AllGather(send, recv driver.Address, count int64, t DataType, c Comm, stream driver.Handle) Result {
	return l.call(allGather, uintptr(send), uintptr(recv), uintptr(count), uintptr(t), uintptr(c), uintptr(stream))
}

func (l *library) ReduceScatter(send, recv driver.Address, count int64, t DataType, op Op, c Comm, stream driver.Handle) Result {
	return l.call(reduceScatter, uintptr(send), uintptr(recv), uintptr(count), uintptr(t), uintptr(op), uintptr(c), uintptr(stream))
}

func (l *library) Send(from driver.Address, count int64, t DataType, peer int, c Comm, stream driver.Handle) Result {
	return l.call(send, uintptr(from), uintptr(count), uintptr(t), uintptr(peer), uintptr(c), uintptr(stream))
}

func (l *library) Recv(to driver.Address, count int64, t DataType, peer int, c Comm, stream driver.Handle) Result {
	return l.call(recv, uintptr(to), uintptr(count), uintptr(t), uintptr(peer), uintptr(c), uintptr(stream))
}

func (l *library) Finalize(c Comm) Result { return l.finalize(c) }
func (l *library) Destroy(c Comm) Result  { return l.destroy(c) }
func (l *library) Abort(c Comm) Result    { return l.abort(c) }

func text(p *byte) string {
	if p == nil {
		return ""
	}
	return unix.BytePtrToString(p)
}

func (l *library) Describe(r Result) string { return text(l.errorString(r)) }
func (l *library) LastError() string        { return text(l.lastError(0)) }
