package fakedriver

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"time"
	"unsafe"

	"github.com/gokeras/gokeras/kernels/cuda/internal/driver"
	"github.com/gokeras/gokeras/kernels/cuda/internal/ptxsim"
)

// Options describe the fake.
type Options struct {
	Devices    int // 0 is 1
	Version    int // of the driver; 0 is 12.4
	Capability int // major·10+minor; 0 is 9.0
	Memory     int64
	Refuse     driver.Result // of cuInit
	Order      ptxsim.Order
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
	graphs  map[driver.Handle][]func() error
	ready   map[driver.Handle][]func() error
	host    map[*byte]bool
	parsed  map[string]*ptxsim.Module
	sizes   map[driver.Address]int64
	held    int64
	refs    int // of contexts
	calls   map[string]int
	names   []string // of the calls since Record
	record  bool
	fail    string // the call that fails
	failAt  int
	fault   error // of a kernel; stays
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
		options: o, next: 1000, streams: map[driver.Handle]*stream{}, events: map[driver.Handle]*event{}, modules: map[driver.Handle]*ptxsim.Module{},
		kernels: map[driver.Handle]*ptxsim.Kernel{}, graphs: map[driver.Handle][]func() error{}, ready: map[driver.Handle][]func() error{}, host: map[*byte]bool{},
		parsed: map[string]*ptxsim.Module{}, sizes: map[driver.Address]int64{}, calls: map[string]int{},
	}
}

// stream does work in order, on a goroutine of its own.
type stream struct {
	mu      sync.Mutex
	changed sync.Cond
	work    []func() error
	given   int // pieces of work so far
	done    int
	closed  bool
	capture bool
	held    []func() error // captured
}

type event struct {
	stream *stream
	after  int // pieces of work that come before
}

// Fail makes the n-th call of a name from now on fail, n from 1.
func (f *Fake) Fail(call string, n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fail, f.failAt = call, f.calls[call]+n
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
	return driver.Success
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

func (f *Fake) DeviceAttribute(attribute, _ int) (int, driver.Result) {
	defer f.mu.Unlock()
	r := f.enter("cuDeviceGetAttribute")
	return map[int]int{driver.AttributeMajor: f.options.Capability / 10, driver.AttributeMinor: f.options.Capability % 10, driver.AttributeProcessors: 132}[attribute], r
}

func (f *Fake) DeviceMemory(int) (int64, driver.Result) {
	defer f.mu.Unlock()
	r := f.enter("cuDeviceTotalMem_v2")
	return f.options.Memory, r
}

func (f *Fake) RetainContext(int) (driver.Handle, driver.Result) {
	defer f.mu.Unlock()
	r := f.enter("cuDevicePrimaryCtxRetain")
	if r == 0 {
		f.refs++
	}
	return 1, r
}

func (f *Fake) ReleaseContext(int) driver.Result {
	defer f.mu.Unlock()
	r := f.enter("cuDevicePrimaryCtxRelease_v2")
	f.refs--
	return r
}

func (f *Fake) SetContext(driver.Handle) driver.Result {
	defer f.mu.Unlock()
	return f.enter("cuCtxSetCurrent")
}

func (f *Fake) MemoryInfo() (free, total int64, r driver.Result) {
	defer f.mu.Unlock()
	r = f.enter("cuMemGetInfo_v2")
	return f.options.Memory - f.held, f.options.Memory, r
}

func (f *Fake) Alloc(bytes int64, _ driver.Handle) (driver.Address, driver.Result) {
	defer f.mu.Unlock()
	if r := f.enter("cuMemAllocAsync"); r != 0 {
		return 0, r
	}
	if f.held+bytes > f.options.Memory {
		return 0, driver.OutOfMemory
	}
	a := driver.Address(f.Memory.Alloc(int(bytes)))
	f.sizes[a] = bytes
	f.held += bytes
	return a, 0
}

func (f *Fake) Free(a driver.Address, s driver.Handle) driver.Result {
	r := f.enter("cuMemFreeAsync")
	bytes, ok := f.sizes[a]
	delete(f.sizes, a)
	f.held -= bytes
	f.mu.Unlock()
	if r != 0 {
		return r
	}
	if !ok {
		return driver.InvalidValue
	}
	return f.put(s, func() error { return f.Memory.Free(uint64(a)) })
}

func (f *Fake) HostAlloc(bytes int) ([]byte, driver.Result) {
	defer f.mu.Unlock()
	if r := f.enter("cuMemHostAlloc"); r != 0 {
		return nil, r
	}
	memory := make([]byte, bytes)
	f.host[unsafe.SliceData(memory)] = true
	return memory, 0
}

func (f *Fake) HostFree(memory []byte) driver.Result {
	defer f.mu.Unlock()
	r := f.enter("cuMemFreeHost")
	if !f.host[unsafe.SliceData(memory)] {
		return driver.InvalidValue
	}
	delete(f.host, unsafe.SliceData(memory))
	return r
}

func (f *Fake) CopyToDevice(to driver.Address, from []byte, s driver.Handle) driver.Result {
	r := f.enter("cuMemcpyHtoDAsync_v2")
	f.mu.Unlock()
	if r != 0 {
		return r
	}
	return f.put(s, func() error { return f.move(f.Memory.At(uint64(to)), from, len(from)) })
}

func (f *Fake) CopyToHost(to []byte, from driver.Address, s driver.Handle) driver.Result {
	r := f.enter("cuMemcpyDtoHAsync_v2")
	f.mu.Unlock()
	if r != 0 {
		return r
	}
	return f.put(s, func() error { return f.move(to, f.Memory.At(uint64(from)), len(to)) })
}

func (f *Fake) CopyOnDevice(to, from driver.Address, bytes int64, s driver.Handle) driver.Result {
	r := f.enter("cuMemcpyDtoDAsync_v2")
	f.mu.Unlock()
	if r != 0 {
		return r
	}
	return f.put(s, func() error { return f.move(f.Memory.At(uint64(to)), f.Memory.At(uint64(from)), int(bytes)) })
}

func (f *Fake) move(to, from []byte, n int) error {
	if len(to) < n || len(from) < n {
		return fmt.Errorf("fakedriver: a copy of %d bytes between memory of %d and %d", n, len(from), len(to))
	}
	copy(to[:n], from[:n])
	return nil
}

func (f *Fake) Fill(to driver.Address, value byte, bytes int64, s driver.Handle) driver.Result {
	r := f.enter("cuMemsetD8Async")
	f.mu.Unlock()
	if r != 0 {
		return r
	}
	return f.put(s, func() error {
		memory := f.Memory.At(uint64(to))
		if int64(len(memory)) < bytes {
			return fmt.Errorf("fakedriver: %d bytes are filled of %d", bytes, len(memory))
		}
		for i := range memory[:bytes] {
			memory[i] = value
		}
		return nil
	})
}

func (f *Fake) NewStream() (driver.Handle, driver.Result) {
	defer f.mu.Unlock()
	if r := f.enter("cuStreamCreateWithPriority"); r != 0 {
		return 0, r
	}
	s := &stream{}
	s.changed.L = &s.mu
	h := f.handle()
	f.streams[h] = s
	go f.serve(s)
	return h, 0
}

// serve does the work of a stream, now and then with a pause.
func (f *Fake) serve(s *stream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		for len(s.work) == 0 {
			if s.closed {
				return
			}
			s.changed.Wait()
		}
		next := s.work[0]
		s.work = s.work[1:]
		s.mu.Unlock()
		if rand.IntN(64) == 0 {
			time.Sleep(time.Duration(rand.IntN(40)) * time.Microsecond)
		}
		if err := next(); err != nil {
			f.mu.Lock()
			if f.fault == nil {
				f.fault = err
			}
			f.mu.Unlock()
		}
		s.mu.Lock()
		s.done++
		s.changed.Broadcast()
	}
}

// put appends work to a stream, or to what is captured of it.
func (f *Fake) put(h driver.Handle, work func() error) driver.Result {
	f.mu.Lock()
	s := f.streams[h]
	f.mu.Unlock()
	if s == nil {
		return driver.InvalidValue
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.capture {
		s.held = append(s.held, work)
		return 0
	}
	s.work = append(s.work, work)
	s.given++
	s.changed.Broadcast()
	return 0
}

func (f *Fake) DestroyStream(h driver.Handle) driver.Result {
	r := f.enter("cuStreamDestroy_v2")
	s := f.streams[h]
	delete(f.streams, h)
	f.mu.Unlock()
	if s == nil {
		return driver.InvalidValue
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.done < s.given {
		s.changed.Wait()
	}
	s.closed = true
	s.changed.Broadcast()
	return r
}

// wait waits until a stream has done so much.
func (s *stream) wait(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.done < n {
		s.changed.Wait()
	}
}

func (f *Fake) state() driver.Result {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.fault != nil {
		return driver.IllegalAddress
	}
	return 0
}

func (f *Fake) SynchronizeStream(h driver.Handle) driver.Result {
	r := f.enter("cuStreamSynchronize")
	s := f.streams[h]
	f.mu.Unlock()
	if r != 0 {
		return r
	}
	if s == nil {
		return driver.InvalidValue
	}
	s.mu.Lock()
	n := s.given
	s.mu.Unlock()
	s.wait(n)
	return f.state()
}

func (f *Fake) NewEvent() (driver.Handle, driver.Result) {
	defer f.mu.Unlock()
	if r := f.enter("cuEventCreate"); r != 0 {
		return 0, r
	}
	h := f.handle()
	f.events[h] = &event{}
	return h, 0
}

func (f *Fake) DestroyEvent(h driver.Handle) driver.Result {
	defer f.mu.Unlock()
	r := f.enter("cuEventDestroy_v2")
	if f.events[h] == nil {
		return driver.InvalidValue
	}
	delete(f.events, h)
	return r
}

func (f *Fake) RecordEvent(h, on driver.Handle) driver.Result {
	defer f.mu.Unlock()
	if r := f.enter("cuEventRecord"); r != 0 {
		return r
	}
	e, s := f.events[h], f.streams[on]
	if e == nil || s == nil {
		return driver.InvalidValue
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.capture {
		return driver.CaptureInvalidate
	}
	e.stream, e.after = s, s.given
	return 0
}

func (f *Fake) SynchronizeEvent(h driver.Handle) driver.Result {
	r := f.enter("cuEventSynchronize")
	e := f.events[h]
	var at event
	if e != nil {
		at = *e
	}
	f.mu.Unlock()
	if r != 0 || e == nil {
		return max(r, driver.Result(0))
	}
	if at.stream != nil {
		at.stream.wait(at.after)
	}
	return f.state()
}

func (f *Fake) QueryEvent(h driver.Handle) driver.Result {
	r := f.enter("cuEventQuery")
	e := f.events[h]
	var at event
	if e != nil {
		at = *e
	}
	f.mu.Unlock()
	if r != 0 || at.stream == nil {
		return r
	}
	at.stream.mu.Lock()
	defer at.stream.mu.Unlock()
	if at.stream.done < at.after {
		return driver.NotReady
	}
	return 0
}

// LoadModule parses the text; equal ones once.
func (f *Fake) LoadModule(text string) (driver.Handle, string, driver.Result) {
	defer f.mu.Unlock()
	if r := f.enter("cuModuleLoadDataEx"); r != 0 {
		return 0, "", r
	}
	m, ok := f.parsed[text]
	if !ok {
		var err error
		if m, err = ptxsim.Parse(text); err != nil {
			return 0, err.Error(), 218
		}
		f.parsed[text] = m
	}
	h := f.handle()
	f.modules[h] = m
	return h, "", 0
}

func (f *Fake) UnloadModule(h driver.Handle) driver.Result {
	defer f.mu.Unlock()
	r := f.enter("cuModuleUnload")
	delete(f.modules, h)
	return r
}

func (f *Fake) Function(h driver.Handle, name string) (driver.Handle, driver.Result) {
	defer f.mu.Unlock()
	if r := f.enter("cuModuleGetFunction"); r != 0 {
		return 0, r
	}
	m := f.modules[h]
	if m == nil || m.Kernels[name] == nil {
		return 0, driver.NotFound
	}
	k := f.handle()
	f.kernels[k] = m.Kernels[name]
	return k, 0
}

func (f *Fake) Launch(h driver.Handle, c driver.Config, args []uint64) driver.Result {
	r := f.enter("cuLaunchKernel")
	k := f.kernels[h]
	f.mu.Unlock()
	if r != 0 {
		return r
	}
	if k == nil || c.Block == 0 || c.Block > 1024 || c.Grid[0] == 0 || c.Grid[1] == 0 || c.Grid[2] == 0 {
		return driver.InvalidValue
	}
	l := ptxsim.Launch{Grid: [3]int{int(c.Grid[0]), int(c.Grid[1]), int(c.Grid[2])}, Block: int(c.Block), Args: append([]uint64{}, args...), Memory: &f.Memory, Order: f.options.Order}
	return f.put(c.Stream, func() error { return k.Run(l) })
}

func (f *Fake) BeginCapture(h driver.Handle) driver.Result {
	r := f.enter("cuStreamBeginCapture_v2")
	s := f.streams[h]
	f.mu.Unlock()
	if r != 0 {
		return r
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.capture, s.held = true, nil
	return 0
}

func (f *Fake) EndCapture(h driver.Handle) (driver.Handle, driver.Result) {
	defer f.mu.Unlock()
	r := f.enter("cuStreamEndCapture")
	s := f.streams[h]
	s.mu.Lock()
	defer s.mu.Unlock()
	s.capture = false
	if r != 0 {
		return 0, r
	}
	g := f.handle()
	f.graphs[g] = s.held
	return g, 0
}

func (f *Fake) Instantiate(g driver.Handle) (driver.Handle, driver.Result) {
	defer f.mu.Unlock()
	if r := f.enter("cuGraphInstantiateWithFlags"); r != 0 {
		return 0, r
	}
	e := f.handle()
	f.ready[e] = f.graphs[g]
	return e, 0
}

func (f *Fake) LaunchGraph(e, s driver.Handle) driver.Result {
	r := f.enter("cuGraphLaunch")
	work, ok := f.ready[e]
	f.mu.Unlock()
	if r != 0 {
		return r
	}
	if !ok {
		return driver.InvalidValue
	}
	return f.put(s, func() error {
		for _, w := range work {
			if err := w(); err != nil {
				return err
			}
		}
		return nil
	})
}

func (f *Fake) DestroyGraph(g driver.Handle) driver.Result {
	defer f.mu.Unlock()
	r := f.enter("cuGraphDestroy")
	delete(f.graphs, g)
	return r
}

func (f *Fake) DestroyExecutable(e driver.Handle) driver.Result {
	defer f.mu.Unlock()
	r := f.enter("cuGraphExecDestroy")
	delete(f.ready, e)
	return r
}

func (f *Fake) Describe(r driver.Result) (name, text string) {
	switch r {
	case driver.OutOfMemory:
		return "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"
	case driver.NoDevice:
		return "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"
	case driver.IllegalAddress:
		return "CUDA_ERROR_ILLEGAL_ADDRESS", fmt.Sprint(f.Fault())
	case 999:
		return "CUDA_ERROR_UNKNOWN", "a failure that a test asked for"
	}
	return fmt.Sprintf("CUDA_ERROR_%d", r), ""
}
