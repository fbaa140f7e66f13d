//go:build linux

package capi

import (
	"errors"
	"maps"
	"math"
	"runtime"
	"slices"
	"unsafe"
)

// CompileOptions say for how many devices a program is compiled.
type CompileOptions struct {
	Replicas int // at least 1
	// Partitions is how many devices each replica is spread over; 0 is 1.
	Partitions int
	// Devices are the numbers of the devices, those of a replica's partitions one after the other; nil leaves the
	// choice to the plugin.
	Devices []int
	// Shardy says that the program's attributes are those of XLA's newer partitioner.
	Shardy bool
	// Flags are settings of XLA by name, for this program.
	Flags map[string]bool
}

// encode writes xla.CompileOptionsProto as protocol buffers do.
func (o CompileOptions) encode() []byte {
	build := field(nil, 1, math.MaxUint64) // device ordinal -1: unset
	build = field(build, 4, uint64(o.Replicas))
	build = field(build, 5, uint64(max(o.Partitions, 1)))
	if o.Partitions > 1 {
		build = field(build, 6, 1) // XLA inserts what the partitions exchange
		assignment := field(nil, 1, uint64(o.Replicas))
		assignment = field(assignment, 2, uint64(o.Partitions))
		for p := range o.Partitions {
			var ids []byte
			for r := range o.Replicas {
				ids = varint(ids, uint64(o.Devices[r*o.Partitions+p]))
			}
			assignment = message(assignment, 3, message(nil, 1, ids))
		}
		build = message(build, 9, assignment)
		if o.Shardy {
			build = field(build, 19, 1)
		}
	} else if o.Devices != nil {
		var ids []byte
		for _, d := range o.Devices {
			ids = varint(ids, uint64(d))
		}
		assignment := field(nil, 1, uint64(len(o.Devices)))
		assignment = field(assignment, 2, 1)
		assignment = message(assignment, 3, message(nil, 1, ids))
		build = message(build, 9, assignment)
	}
	all := message(nil, 3, build)
	for _, name := range slices.Sorted(maps.Keys(o.Flags)) {
		on := uint64(0)
		if o.Flags[name] {
			on = 1
		}
		entry := message(message(nil, 1, []byte(name)), 2, field(nil, 2, on))
		all = message(all, 7, entry)
	}
	return all
}

func varint(b []byte, v uint64) []byte {
	for v >= 0x80 {
		b = append(b, byte(v)|0x80)
		v >>= 7
	}
	return append(b, byte(v))
}

func field(b []byte, number int, v uint64) []byte { return varint(varint(b, uint64(number)<<3), v) }

func message(b []byte, number int, inner []byte) []byte {
	return append(varint(varint(b, uint64(number)<<3|2), uint64(len(inner))), inner...)
}

// program writes PJRT_Program for a module in MLIR's text.
func (a *arguments) program(code []byte) uint64 {
	const format = "mlir"
	return a.words([]uint64{48, 0, a.bytes(code), uint64(len(code)), a.text(format), uint64(len(format))})
}

// Executable is a compiled program. One that was compiled for a topology cannot be run.
type Executable struct {
	Outputs int // of each replica
	plugin  *Plugin
	client  *Client // nil where the program cannot be run
	loaded  uintptr
	object  uintptr
}

// Compile compiles a module in MLIR's text for devices of the client.
func (c *Client) Compile(code []byte, o CompileOptions) (*Executable, error) {
	var a arguments
	defer a.release()
	options := o.encode()
	b := newBlock(56)
	b[2], b[3], b[4], b[5] = uint64(c.object), a.program(code), a.bytes(options), uint64(len(options))
	if err := c.Plugin.call(clientCompile, b); err != nil {
		return nil, err
	}
	return c.loadedAs(uintptr(b[6]))
}

// Load makes an executable of what Serialize gave, on the same platform and version.
func (c *Client) Load(serialized []byte) (*Executable, error) {
	var a arguments
	defer a.release()
	b := newBlock(64)
	b[2], b[3], b[4] = uint64(c.object), a.bytes(serialized), uint64(len(serialized))
	if err := c.Plugin.call(deserializeAndLoad, b); err != nil {
		return nil, err
	}
	return c.loadedAs(uintptr(b[5]))
}

func (c *Client) loadedAs(loaded uintptr) (*Executable, error) {
	e := &Executable{plugin: c.Plugin, client: c, loaded: loaded}
	b := newBlock(32)
	b[2] = uint64(loaded)
	if err := c.Plugin.call(loadedExecutable, b); err != nil {
		return nil, errors.Join(err, e.Close())
	}
	e.object = uintptr(b[3])
	if err := e.count(); err != nil {
		return nil, errors.Join(err, e.Close())
	}
	return e, nil
}

func (e *Executable) count() error {
	b := newBlock(32)
	b[2] = uint64(e.object)
	err := e.plugin.call(executableNumOutputs, b)
	e.Outputs = int(b[3])
	return err
}

// Close frees the executable.
func (e *Executable) Close() error {
	if e.client != nil {
		e.client.mu.RLock()
		defer e.client.mu.RUnlock()
		if e.client.closed {
			return nil
		}
	}
	var err error
	if e.object != 0 {
		err = e.plugin.handle(executableDestroy, e.object)
	}
	if e.loaded != 0 {
		err = errors.Join(err, e.plugin.handle(loadedDestroy, e.loaded))
	}
	e.object, e.loaded = 0, 0
	return err
}

// Serialize returns the compiled code, for Load.
func (e *Executable) Serialize() ([]byte, error) {
	b := newBlock(56)
	b[2] = uint64(e.object)
	if err := e.plugin.call(executableSerialize, b); err != nil {
		return nil, err
	}
	out := []byte(text(b[3], b[4]))
	if deleter := uintptr(b[6]); deleter != 0 {
		call1(deleter, uintptr(b[5]))
	}
	return out, nil
}

// Optimized returns what the compiler made of the program, with the operations that exchange values between devices: an
// HloModuleProtoWithConfig, or an HloModuleProto where the format is "hlo".
func (e *Executable) Optimized() (code []byte, format string, err error) {
	var a arguments
	defer a.release()
	program := make([]uint64, 6)
	program[0] = 48
	b := newBlock(32)
	b[2], b[3] = uint64(e.object), a.words(program)
	if err := e.plugin.call(executableOptimized, b); err != nil {
		return nil, "", err
	}
	format, code = text(program[4], program[5]), make([]byte, program[3])
	program[2] = a.bytes(code)
	err = e.plugin.call(executableOptimized, b)
	return code, format, err
}

// MemoryStats are bytes on a device.
type MemoryStats struct{ Code, Arguments, Outputs, Aliased, Temporary, Peak int64 }

// Memory says what memory a run takes.
func (e *Executable) Memory() (MemoryStats, error) {
	b := newBlock(120)
	b[2] = uint64(e.object)
	if err := e.plugin.call(executableMemoryStats, b); err != nil {
		return MemoryStats{}, err
	}
	return MemoryStats{int64(b[3]), int64(b[4]), int64(b[5]), int64(b[6]), int64(b[7]), int64(b[13])}, nil
}

// Costs are the compiler's own counts ("flops", "bytes accessed", ...), where the platform makes any.
func (e *Executable) Costs() (map[string]float64, error) {
	b := newBlock(40)
	b[2] = uint64(e.object)
	if err := e.plugin.call(executableCostAnalysis, b); err != nil {
		return nil, err
	}
	costs := map[string]float64{}
	for i := range int(b[3]) {
		w := words(uintptr(b[4])+uintptr(56*i), 7)
		switch int32(w[4]) {
		case 1:
			costs[text(w[2], w[3])] = float64(int64(w[5]))
		case 3:
			costs[text(w[2], w[3])] = float64(math.Float32frombits(uint32(w[5])))
		}
	}
	return costs, nil
}

// Launch holds the arguments of an executable's runs, so that a run allocates nothing. One run uses it at a time.
type Launch struct {
	executable *Executable
	block      block
	options    block
	keep       []uint64 // numbers of the inputs that are not given away
	arguments  [][]uint64
	results    [][]uint64
	lists      [2][]uint64 // arguments, results
}

// NewLaunch prepares runs with the given number of arguments on the replicas' devices.
func (e *Executable) NewLaunch(replicas, inputs int) *Launch {
	l := &Launch{executable: e, block: newBlock(80), options: newBlock(112), keep: make([]uint64, max(inputs, 1))}
	for i := range l.lists {
		l.lists[i] = make([]uint64, replicas)
	}
	for r := range replicas {
		l.arguments = append(l.arguments, make([]uint64, max(inputs, 1)))
		l.results = append(l.results, make([]uint64, max(e.Outputs, 1)))
		l.lists[0][r], l.lists[1][r] = addressOf(l.arguments[r]), addressOf(l.results[r])
	}
	l.options[7] = addressOf(l.keep)
	b := l.block
	b[2], b[3], b[4] = uint64(e.loaded), addressOf(l.options), addressOf(l.lists[0])
	b[5], b[6], b[7], b[8] = uint64(replicas), uint64(inputs), addressOf(l.lists[1]), 0 // no events
	return l
}

// Arguments is where the buffers of a replica's inputs are put before a run.
func (l *Launch) Arguments(replica int) []uint64 { return l.arguments[replica] }

// Results holds, after a run, the buffers of a replica's outputs, which belong to the caller.
func (l *Launch) Results(replica int) []uint64 { return l.results[replica] }

// Run executes on all replicas and returns when the plugin has taken the run: the results come into being later, and a
// failure of the devices is that of who waits for one of them. The inputs named in keep stay the caller's where the
// program would take their memory for outputs.
func (l *Launch) Run(keep []int) error {
	for i, n := range keep {
		l.keep[i] = uint64(n)
	}
	l.options[8] = uint64(len(keep))
	err := l.executable.plugin.call(loadedExecute, l.block)
	runtime.KeepAlive(l)
	return err
}

// addressOf is the address of words that the launch refers to for as long as it lives. They lie on Go's heap, where
// nothing moves.
func addressOf(w []uint64) uint64 { return uint64(uintptr(unsafe.Pointer(unsafe.SliceData(w)))) }

func addressOfBytes(b []byte) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(b))) }

// Topology is a set of devices that need not be here.
type Topology struct {
	plugin *Plugin
	object uintptr
}

// NewTopology describes devices by the platform's name for them, "v5e:2x2".
func (p *Plugin) NewTopology(name string, options ...Option) (*Topology, error) {
	var a arguments
	defer a.release()
	b := newBlock(56)
	b[2], b[3] = a.text(name), uint64(len(name))
	var err error
	if b[4], b[5], err = a.options(options); err != nil {
		return nil, err
	}
	if err := p.call(topologyCreate, b); err != nil {
		return nil, err
	}
	return &Topology{p, uintptr(b[6])}, nil
}

// Devices lists the devices.
func (t *Topology) Devices() ([]DeviceInfo, error) {
	b := newBlock(40)
	b[2] = uint64(t.object)
	if err := t.plugin.call(topologyDescriptions, b); err != nil {
		return nil, err
	}
	var all []DeviceInfo
	for _, d := range words(uintptr(b[3]), int(b[4])) {
		info, err := t.plugin.describe(d)
		if err != nil {
			return nil, err
		}
		all = append(all, info)
	}
	return all, nil
}

// Compile compiles for the devices without having them.
func (t *Topology) Compile(code []byte, o CompileOptions) (*Executable, error) {
	var a arguments
	defer a.release()
	options := o.encode()
	b := newBlock(64)
	b[2], b[3], b[4], b[5] = uint64(t.object), a.program(code), a.bytes(options), uint64(len(options))
	if err := t.plugin.call(compileForTopology, b); err != nil {
		return nil, err
	}
	e := &Executable{plugin: t.plugin, object: uintptr(b[7])}
	if err := e.count(); err != nil {
		return nil, errors.Join(err, e.Close())
	}
	return e, nil
}

// Plugin is the plugin that describes the devices.
func (t *Topology) Plugin() *Plugin { return t.plugin }

// Close frees the topology.
func (t *Topology) Close() error { return t.plugin.handle(topologyDestroy, t.object) }
