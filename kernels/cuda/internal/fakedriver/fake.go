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

// Options describe the fake.
type Options struct {
	Devices      int // 0 is 1
	Version      int // of the driver; 0 is 12.4
	Capability   int // major·10+minor; 0 is 9.0
	Memory       int64
	NoPools      bool          // allocations in the order of a stream are not supported
	Refuse       driver.Result // of cuInit
	Order        ptxsim.Order
	NoTensorMaps bool // as drivers before CUDA 12.0
	AnyContext   bool // calls do not look for a context
	Bus          int  // of device 0, after FirstBus
	Clock        int  // in kHz; 0 is unknown
	// MemoryClock is in kHz, of a bus of 5120 bits; 0 is unknown.
	MemoryClock int
	Races       bool // kernels whose threads race in global memory are wrong
	// NoPeers says which pairs of devices do not reach each other's memory; nil: all do.
	NoPeers func(a, b int) bool
	// Before is called by a stream before it runs a kernel of this name; nil: nothing is.
	Before func(kernel string)
	// Lag is how long each piece of work in streams after the first of a device takes at least.
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
	allowed map[driver.Handle]int // shared memory of kernels
	graphs  map[driver.Handle]*graph
	ready   map[driver.Handle]*graph // executable
	host    map[*byte]bool
	parsed  map[string]*ptxsim.Module
	sizes   map[driver.Address]int64
	owners  map[driver.Address]int // device of each allocation, by where it begins
	access  map[[2]int]bool        // owner and peer
	current map[int]int            // device whose context is current, and 1, by thread
	lost    map[int]bool           // devices that fell off the bus
	shared  map[driver.Address]shared
	homes   map[driver.Handle]int // devices of modules, kernels and events
	held    int64
	kept    map[int64]int // allocations that were freed and wait for another of their size
	refs    int           // of contexts
	calls   map[string]int
	names   []string // of the calls since Record
	record  bool
	fail    string // the call that fails
	failAt  int
	fault   error // of a kernel; stays

	identity uint64 // among all drivers

	downloads downloads

	tracing  bool
	spans    []Span
	happened int // beginnings and ends since Trace
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

// downloads counts copies to host memory, by their bytes.
type downloads struct {
	sync.Mutex
	sizes map[int]int
}

// stream does work in order, on a goroutine of its own.
type stream struct {
	device  int
	number  int // of the device's
	mu      sync.Mutex
	changed sync.Cond
	work    []func() error
	given   int // pieces of work so far
	clock   int // when they are over, on the clock of [Fake.Elapsed]
	done    int
	closed  bool

	capture *capture // that the stream takes part in; nil: none. Guarded by the fake, as tail is
	tail    []int    // what of the capture comes before what is put next
}

type event struct {
	stream *stream
	after  int // pieces of work that come before
	clock  int // when these are over

	capture *capture // in which it was recorded last; nil: none
	behind  []int    // of the capture
}

// Fail makes the n-th call of a name from now on fail, n from 1.
func (f *Fake) Fail(call string, n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fail, f.failAt = call, f.calls[call]+n
}

// Pending reports whether the call that [Fake.Fail] named has not been made yet.
func (f *Fake) Pending() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.fail != ""
}

// Lose makes a device fall off the bus: calls with its context fail from now on, and what its streams have still to do
// is not done.
func (f *Fake) Lose(device int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.lost[device] = true
}

// here is the device whose context is current on the calling thread, -1 where none is; the lock is held.
func (f *Fake) here() int { return f.current[thread()] - 1 }

func thread() int { return unix.Gettid() }

// reach is an error where a device may not use the memory at an address. The lock is held.
func (f *Fake) reach(device int, a uint64) error {
	base := driver.Address(ptxsim.Base(a))
	if owner, ok := f.owners[base]; ok && owner != device && !f.access[[2]int{owner, device}] {
		return fmt.Errorf("fakedriver: device %d uses memory of device %d, which was not opened to it", device, owner)
	}
	return nil
}

// Calls returns how often each call was made.
func (f *Fake) Calls() map[string]int {
	f.mu.Lock()
	defer f.mu.Unlock()
	calls := map[string]int{}
	for k, v := range f.calls {
		calls[k] = v
	}
	return calls
}

// Record begins to write down the names of calls.
func (f *Fake) Record() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.record, f.names = true, nil
}

// Recorded ends what Record began and returns the names in order.
func (f *Fake) Recorded() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.record = false
	return f.names
}

// Fault returns what a kernel did wrong.
func (f *Fake) Fault() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.fault
}

// Alive says what has not been given back; "" where all has.
func (f *Fake) Alive() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	blocks, bytes := f.Memory.Live()
	if blocks+len(f.streams)+len(f.events)+len(f.modules)+len(f.graphs)+len(f.ready)+len(f.host)+f.refs == 0 {
		return ""
	}
	return fmt.Sprintf("%d allocations of %d bytes, %d streams, %d events, %d modules, %d graphs, %d executable graphs, %d host allocations, %d contexts", blocks, bytes, len(f.streams), len(f.events), len(f.modules), len(f.graphs), len(f.ready), len(f.host), f.refs)
}

// enter counts a call; the caller holds nothing and gets the lock.
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
	if f.lost[f.here()] && call != "cuCtxSetCurrent" && call != "cuDriverGetVersion" && !strings.HasPrefix(call, "cuDevice") { // those ask for no context
		return driver.DeviceUnavailable
	}
	return driver.Success
}

// wantsContext reports whether a call is an error on threads without a context.
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

// FirstBus is the number of the PCI bus of device 0; the others follow.
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

// CanAccessPeer says what the options say.
func (f *Fake) CanAccessPeer(device, peer int) (bool, driver.Result) {
	defer f.mu.Unlock()
	r := f.enter("cuDeviceCanAccessPeer")
	return f.options.NoPeers == nil || !f.options.NoPeers(device, peer), r
}

// AllowPeer opens the memory of a device to another one.
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
