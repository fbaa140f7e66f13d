//go:build linux

package fakedriver

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gokeras/gokeras/kernels/cuda/internal/driver"
	"github.com/gokeras/gokeras/kernels/cuda/internal/ptxsim"
)

// Options configure the fake.
type Options struct {
	Devices      int // 0 means 1
	Version      int // the driver's version; 0 means 12.4
	Capability   int // major·10+minor; 0 means 9.0
	Memory       int64
	NoPools      bool          // stream-ordered allocation is not supported
	Refuse       driver.Result // result of cuInit
	Order        ptxsim.Order
	NoTensorMaps bool // no tensor maps, as in drivers before CUDA 12.0
	AnyContext   bool // calls do not require a current context
	Bus          int  // PCI bus of device 0, added to FirstBus
	Clock        int  // in kHz; 0 means unknown
	// MemoryClock is in kHz, for a bus of 5120 bits; 0 means unknown.
	MemoryClock int
	Races       bool // data races of threads in global memory are faults
	// NoPeers says which pairs of devices cannot access each other's memory; nil means all can.
	NoPeers func(a, b int) bool
	// Before, if not nil, is called by a stream before it runs the kernel of this name.
	Before func(kernel string)
	// Lag is the minimum duration of each piece of work in all streams of a device but the first.
	Lag time.Duration
}

// Fake is a driver. It implements [driver.API].
type Fake struct {
	options Options
	Memory  ptxsim.Memory

	mu      sync.Mutex
	next    driver.Handle
	streams map[driver.Handle]*stream
	events  map[driver.Handle]*event
	modules map[driver.Handle]*ptxsim.Module
	kernels map[driver.Handle]*ptxsim.Kernel
	allowed map[driver.Handle]int // shared memory that kernels may use
	graphs  map[driver.Handle]*graph
	ready   map[driver.Handle]*graph // executable graphs
	host    map[*byte]bool
	parsed  map[string]*ptxsim.Module
	sizes   map[driver.Address]int64
	owners  map[driver.Address]int // device of each allocation, by its first address
	access  map[[2]int]bool        // pairs of owner and peer
	current map[int]int            // device whose context is current, plus 1, by thread
	lost    map[int]bool           // devices that fell off the bus
	shared  map[driver.Address]shared
	homes   map[driver.Handle]int // devices of modules, kernels and events
	held    int64
	kept    map[int64]int // number of freed allocations kept for reuse, by size
	refs    int           // references to contexts
	calls   map[string]int
	names   []string // names of the calls since Record
	record  bool
	fail    string // name of the call to fail
	failAt  int
	fault   error // the first fault of a kernel

	identity uint64 // unique among drivers

	downloads downloads

	tracing  bool
	spans    []Span
	happened int // number of begin and end events since Trace
}

// New makes a fake.
func New(o Options) *Fake {
	if o.Devices == 0 {
		o.Devices = 1
	}
	if o.Version == 0 {
		o.Version = 12040
	}
	if o.Capability == 0 {
		o.Capability = 90
	}
	if o.Memory == 0 {
		o.Memory = 1 << 30
	}
	return &Fake{
		downloads: downloads{sizes: map[int]int{}}, options: o, next: 1000, streams: map[driver.Handle]*stream{}, events: map[driver.Handle]*event{}, modules: map[driver.Handle]*ptxsim.Module{},
		kernels: map[driver.Handle]*ptxsim.Kernel{}, allowed: map[driver.Handle]int{}, graphs: map[driver.Handle]*graph{}, ready: map[driver.Handle]*graph{}, host: map[*byte]bool{},
		kept: map[int64]int{}, parsed: map[string]*ptxsim.Module{}, sizes: map[driver.Address]int64{}, calls: map[string]int{},
		owners: map[driver.Address]int{}, access: map[[2]int]bool{}, current: map[int]int{}, lost: map[int]bool{}, shared: map[driver.Address]shared{}, identity: rand.Uint64(), homes: map[driver.Handle]int{},
	}
}

// downloads counts copies to host memory, by size in bytes.
type downloads struct {
	sync.Mutex
	sizes map[int]int
}

// stream does its work in order, on its own goroutine.
type stream struct {
	device  int
	number  int // its number on the device
	mu      sync.Mutex
	changed sync.Cond
	work    []func() error
	given   int // pieces of work put into it so far
	clock   int // when they complete, on the clock of [Fake.Elapsed]
	done    int
	closed  bool

	capture *capture // the capture that the stream is in, nil for none; guarded by the fake's lock, as tail is
	tail    []int    // the nodes of the capture that the next one depends on
}

type event struct {
	stream *stream
	after  int // number of pieces of work before it
	clock  int // when these complete

	capture *capture // the capture in which it was last recorded; nil for none
	behind  []int    // the capture's nodes before it
}

// Fail makes the n-th call of a name from now on fail, counting from 1.
func (f *Fake) Fail(call string, n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fail, f.failAt = call, f.calls[call]+n
}

// Pending reports whether the call given to [Fake.Fail] has not been made yet.
func (f *Fake) Pending() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.fail != ""
}

// Lose makes a device fall off the bus: calls with its context fail from now on, and the pending work of its streams is
// dropped.
func (f *Fake) Lose(device int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.lost[device] = true
}

// here returns the device whose context is current on the calling thread, or -1; the lock is held.
func (f *Fake) here() int { return f.current[thread()] - 1 }

func thread() int { return unix.Gettid() }

// reach returns an error if a device may not access the memory at an address. The lock is held.
func (f *Fake) reach(device int, a uint64) error {
	base := driver.Address(ptxsim.Base(a))
	if owner, ok := f.owners[base]; ok && owner != device && !f.access[[2]int{owner, device}] {
		return fmt.Errorf("fakedriver: device %d uses memory of device %d, which was not opened to it", device, owner)
	}
	return nil
}

// Calls returns how many times each call was made.
func (f *Fake) Calls() map[string]int {
	f.mu.Lock()
	defer f.mu.Unlock()
	calls := map[string]int{}
	for k, v := range f.calls {
		calls[k] = v
	}
	return calls
}

// Record starts recording the names of calls.
func (f *Fake) Record() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.record, f.names = true, nil
}

// Recorded stops recording and returns the names in order.
func (f *Fake) Recorded() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.record = false
	return f.names
}

// Fault returns the first fault of a kernel.
func (f *Fake) Fault() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.fault
}

// Alive describes what has not been freed; "" if everything has.
func (f *Fake) Alive() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	blocks, bytes := f.Memory.Live()
	if blocks+len(f.streams)+len(f.events)+len(f.modules)+len(f.graphs)+len(f.ready)+len(f.host)+f.refs == 0 {
		return ""
	}
	return fmt.Sprintf("%d allocations of %d bytes, %d streams, %d events, %d modules, %d graphs, %d executable graphs, %d host allocations, %d contexts", blocks, bytes, len(f.streams), len(f.events), len(f.modules), len(f.graphs), len(f.ready), len(f.host), f.refs)
}

// enter counts a call and returns with the lock held; the caller must not hold it.
func (f *Fake) enter(call string) driver.Result {
	f.mu.Lock()
	f.calls[call]++
	if f.record {
		f.names = append(f.names, call)
	}
	if call == f.fail && f.calls[call] == f.failAt {
		f.fail = ""
		return 999
	}
	if f.fault != nil {
		return driver.IllegalAddress
	}
	if f.here() < 0 && !f.options.AnyContext && wantsContext(call) {
		return driver.InvalidContext
	}
	if f.lost[f.here()] && call != "cuCtxSetCurrent" && call != "cuDriverGetVersion" && !strings.HasPrefix(call, "cuDevice") { // these calls need no context
		return driver.DeviceUnavailable
	}
	return driver.Success
}

// wantsContext reports whether a call requires a current context.
func wantsContext(call string) bool {
	switch call {
	case "cuInit", "cuDriverGetVersion", "cuCtxSetCurrent", "cuMemPoolSetAccess", "cuMemPoolTrimTo":
		return false
	}
	return !strings.HasPrefix(call, "cuDevice")
}

func (f *Fake) handle() driver.Handle {
	f.next++
	return f.next
}

func (f *Fake) Init() driver.Result {
	defer f.mu.Unlock()
	if r := f.enter("cuInit"); r != 0 {
		return r
	}
	return f.options.Refuse
}

func (f *Fake) Version() (int, driver.Result) {
	defer f.mu.Unlock()
	r := f.enter("cuDriverGetVersion")
	return f.options.Version, r
}

func (f *Fake) DeviceCount() (int, driver.Result) {
	defer f.mu.Unlock()
	r := f.enter("cuDeviceGetCount")
	return f.options.Devices, r
}

func (f *Fake) DeviceName(int) (string, driver.Result) {
	defer f.mu.Unlock()
	r := f.enter("cuDeviceGetName")
	return "Fake GPU", r
}

// FirstBus is the PCI bus number of device 0; the other devices have the following ones.
const FirstBus = 0xa0

func (f *Fake) DeviceAttribute(attribute, device int) (int, driver.Result) {
	defer f.mu.Unlock()
	r := f.enter("cuDeviceGetAttribute")
	pools := 1
	if f.options.NoPools {
		pools = 0
	}
	return map[int]int{driver.AttributeMemoryPools: pools, driver.AttributeMajor: f.options.Capability / 10, driver.AttributeMinor: f.options.Capability % 10, driver.AttributeProcessors: 132, driver.AttributeClock: f.options.Clock, driver.AttributeMemoryClock: f.options.MemoryClock, driver.AttributeMemoryWidth: 5120, driver.AttributeBus: FirstBus + f.options.Bus + device}[attribute], r
}

func (f *Fake) DeviceMemory(int) (int64, driver.Result) {
	defer f.mu.Unlock()
	r := f.enter("cuDeviceTotalMem_v2")
	return f.options.Memory, r
}

func (f *Fake) RetainContext(device int) (driver.Handle, driver.Result) {
	defer f.mu.Unlock()
	r := f.enter("cuDevicePrimaryCtxRetain")
	if r == 0 {
		f.refs++
	}
	return driver.Handle(device + 1), r
}

func (f *Fake) ReleaseContext(int) driver.Result {
	defer f.mu.Unlock()
	r := f.enter("cuDevicePrimaryCtxRelease_v2")
	f.refs--
	return r
}

func (f *Fake) SetContext(c driver.Handle) driver.Result {
	defer f.mu.Unlock()
	r := f.enter("cuCtxSetCurrent")
	if r == 0 {
		f.current[thread()] = int(c)
	}
	return r
}

// CanAccessPeer answers by Options.NoPeers.
func (f *Fake) CanAccessPeer(device, peer int) (bool, driver.Result) {
	defer f.mu.Unlock()
	r := f.enter("cuDeviceCanAccessPeer")
	return f.options.NoPeers == nil || !f.options.NoPeers(device, peer), r
}

// AllowPeer lets another device access a device's memory.
func (f *Fake) AllowPeer(owner, peer int) driver.Result {
	defer f.mu.Unlock()
	r := f.enter("cuMemPoolSetAccess")
	if r == 0 && f.options.NoPeers != nil && f.options.NoPeers(owner, peer) {
		return 217 // CUDA_ERROR_PEER_ACCESS_UNSUPPORTED
	}
	if r == 0 {
		f.access[[2]int{owner, peer}] = true
	}
	return r
}
