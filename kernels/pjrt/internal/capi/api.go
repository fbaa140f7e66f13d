//go:build linux

package capi

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
	"unsafe"

	"github.com/ebitengine/purego"
)

// Byte offsets of functions in the table of a plugin.
const (
	errorDestroy             = 40
	errorMessage             = 48
	errorGetCode             = 56
	pluginInitialize         = 64
	pluginAttributes         = 72
	eventDestroy             = 80
	eventIsReady             = 88
	eventAwait               = 104
	clientCreate             = 120
	clientDestroy            = 128
	clientPlatformName       = 136
	clientProcessIndex       = 144
	clientPlatformVersion    = 152
	clientDevices            = 160
	clientAddressableDevices = 168
	clientCompile            = 200
	bufferFromHost           = 216
	descriptionID            = 224
	descriptionProcess       = 232
	descriptionAttributes    = 240
	descriptionKind          = 248
	descriptionDebugString   = 256
	deviceDescription        = 272
	deviceMemories           = 296
	deviceDefaultMemory      = 304
	deviceMemoryStats        = 312
	memoryID                 = 320
	memoryKind               = 328
	memoryDebugString        = 336
	memoryDevices            = 352
	executableDestroy        = 360
	executableNumOutputs     = 392
	executableCodeSize       = 400
	executableCostAnalysis   = 408
	executableOptimized      = 424
	executableSerialize      = 432
	loadedDestroy            = 440
	loadedExecutable         = 448
	loadedExecute            = 480
	deserializeAndLoad       = 488
	bufferDestroy            = 504
	bufferToDevice           = 592
	bufferToHost             = 600
	bufferIsOnCPU            = 608
	bufferReadyEvent         = 616
	bufferUnsafePointer      = 624
	topologyCreate           = 696
	topologyDestroy          = 704
	topologyDescriptions     = 728
	compileForTopology       = 752
	bufferToMemory           = 776
	executableMemoryStats    = 808
)

// oldest is the first version of the interface (0.oldest) in which these offsets hold.
const oldest = 57

// slack is the tail of zeros that every block of arguments has.
const slack = 128

// Plugin is an opened library. Its methods, and those of what it makes, may be called by many goroutines.
type Plugin struct {
	Path         string
	Major, Minor int32 // version of the interface
	table        uintptr
	size         uintptr
}

// Error is what a plugin reported.
type Error struct {
	Code    int32 // of absl::StatusCode
	Message string
}

// Error codes of plugins.
const (
	Cancelled         = 1
	InvalidArgument   = 3
	DeadlineExceeded  = 4
	NotFound          = 5
	ResourceExhausted = 8
	Aborted           = 10
	Unimplemented     = 12
	Internal          = 13
	Unavailable       = 14
)

func (e *Error) Error() string { return fmt.Sprintf("%s (code %d)", e.Message, e.Code) }

// Open opens the library and makes it ready. A library that is no plugin, or one of an interface that is too old, is an
// error.
func Open(path string) (*Plugin, error) {
	library, err := purego.Dlopen(path, purego.RTLD_NOW|purego.RTLD_LOCAL)
	if err != nil {
		return nil, fmt.Errorf("pjrt: the plugin cannot be loaded: %w", err)
	}
	get, err := purego.Dlsym(library, "GetPjrtApi")
	if err != nil {
		return nil, fmt.Errorf("pjrt: %s is no PJRT plugin: it has no function GetPjrtApi", path)
	}
	table, _, _ := purego.SyscallN(get)
	if table == 0 {
		return nil, fmt.Errorf("pjrt: %s: GetPjrtApi returned null", path)
	}
	head := words(table, 5)
	p := &Plugin{Path: path, table: table, size: uintptr(head[0]), Major: int32(head[4]), Minor: int32(head[4] >> 32)}
	if p.Major != 0 || p.Minor < oldest {
		return nil, fmt.Errorf("pjrt: %s has version %d.%d of the plugin interface; expected 0.%d or later of major version 0: install a newer plugin", path, p.Major, p.Minor, oldest)
	}
	return p, p.call(pluginInitialize, newBlock(16))
}

// function is the address of the function at an offset of the table.
func (p *Plugin) function(entry uintptr) (uintptr, error) {
	if entry+8 <= p.size {
		if f := uintptr(words(p.table+entry, 1)[0]); f != 0 {
			return f, nil
		}
	}
	return 0, &Error{Unimplemented, fmt.Sprintf("the plugin's interface 0.%d has no function at %d", p.Minor, entry)}
}

// call calls the function at an offset of the table.
func (p *Plugin) call(entry uintptr, b block) error {
	f, err := p.function(entry)
	if err != nil {
		return err
	}
	l := lists.Get().(*[]uintptr)
	(*l)[0] = b.address()
	e, _, _ := purego.SyscallN(f, *l...)
	lists.Put(l)
	runtime.KeepAlive(b)
	return p.toError(e)
}

// lists are argument lists of one argument: a literal one would be allocated for each call.
var lists = sync.Pool{New: func() any { l := make([]uintptr, 1); return &l }}

// toError reads and frees an error object.
func (p *Plugin) toError(e uintptr) error {
	if e == 0 {
		return nil
	}
	call := func(entry uintptr, b block) {
		b[2] = uint64(e)
		purego.SyscallN(uintptr(words(p.table+entry, 1)[0]), b.address())
		runtime.KeepAlive(b)
	}
	message, code := newBlock(40), newBlock(32)
	call(errorMessage, message)
	call(errorGetCode, code)
	out := &Error{int32(code[3]), text(message[3], message[4])}
	call(errorDestroy, newBlock(24))
	return out
}

// Attributes are the plugin's versions of StableHLO and XLA, by name.
func (p *Plugin) Attributes() (map[string][]int64, error) {
	b := newBlock(32)
	if err := p.call(pluginAttributes, b); err != nil {
		return nil, err
	}
	return namedIntegers(b[2], b[3]), nil
}

// namedIntegers reads those values of an array of PJRT_NamedValue that are integers or lists of them.
func namedIntegers(address, count uint64) map[string][]int64 {
	attributes := map[string][]int64{}
	for i := range int(count) {
		w := words(uintptr(address)+uintptr(56*i), 7)
		switch name := text(w[2], w[3]); int32(w[4]) {
		case 1:
			attributes[name] = []int64{int64(w[5])}
		case 2:
			for _, v := range words(uintptr(w[5]), int(w[6])) {
				attributes[name] = append(attributes[name], int64(v))
			}
		}
	}
	return attributes
}

// Await waits for an event and frees it; 0 is no event.
func (p *Plugin) Await(event uintptr) error {
	if event == 0 {
		return nil
	}
	err := p.handle(eventAwait, event)
	return errors.Join(err, p.handle(eventDestroy, event))
}

// handle calls a function whose only argument is an object.
func (p *Plugin) handle(entry, object uintptr) error {
	_, err := p.ask(entry, object)
	return err
}

// ask calls a function whose first argument is an object, and returns the word behind it, where results are. It
// allocates nothing.
func (p *Plugin) ask(entry, object uintptr) (uint64, error) {
	b := small.Get().(*block)
	defer small.Put(b)
	clear((*b)[1:])
	(*b)[2] = uint64(object)
	err := p.call(entry, *b)
	return (*b)[3], err
}

// small are blocks of calls whose argument is an object.
var small = sync.Pool{New: func() any { b := newBlock(32); return &b }}

// block is the arguments of one call as 8-byte words; word 0 is their size. It lies on Go's heap, whose objects do not
// move, and holds addresses as numbers: who puts one in keeps alive what it points to until the call has returned.
type block []uint64

// It must not be inlined: a block whose size is known could end up on the stack of a goroutine, which moves.
//
//go:noinline
func newBlock(size int) block {
	b := make(block, (size+slack)/8)
	b[0] = uint64(size + slack)
	return b
}

func (b block) address() uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(b))) }

// words views memory of the plugin.
func words(address uintptr, n int) []uint64 {
	if n == 0 {
		return nil
	}
	return unsafe.Slice((*uint64)(pointer(address)), n)
}

// text copies a string of the plugin's.
func text(address, length uint64) string {
	if address == 0 || length == 0 {
		return ""
	}
	return string(unsafe.Slice((*byte)(pointer(uintptr(address))), length))
}

// pointer turns an address that C handed out into a pointer, by way of memory, as go vet cannot know that it does not
// point into Go's heap.
func pointer(address uintptr) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&address)) }

// arguments collects what the nested pointers of a block point to.
type arguments struct{ pinner runtime.Pinner }

func (a *arguments) release() { a.pinner.Unpin() }

func (a *arguments) bytes(b []byte) uint64 {
	if len(b) == 0 {
		b = make([]byte, 1)
	}
	a.pinner.Pin(unsafe.SliceData(b))
	return uint64(uintptr(unsafe.Pointer(unsafe.SliceData(b))))
}

func (a *arguments) text(s string) uint64 { return a.bytes(append([]byte(s), 0)) }

func (a *arguments) words(w []uint64) uint64 {
	if len(w) == 0 {
		w = make([]uint64, 1)
	}
	a.pinner.Pin(unsafe.SliceData(w))
	return uint64(uintptr(unsafe.Pointer(unsafe.SliceData(w))))
}

// call1 calls a function of C's with one argument.
func call1(function, argument uintptr) { purego.SyscallN(function, argument) }
