//go:build linux

package cuda

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/cuda/internal/driver"
	"github.com/gokeras/gokeras/kernels/cuda/internal/lower"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/optimizers"
)

// smallSteps measures where the time of a small step goes: the host's calls, the launch of a graph, its kernels one by
// one, and other cuts of its products.
type smallSteps struct {
	t       testing.TB
	b       *backend
	d       *device
	name    kernels.Device
	times   int // of what is repeated
	text    strings.Builder
	buffers []kernels.Buffer
}

func (m *smallSteps) say(format string, args ...any) { fmt.Fprintf(&m.text, format+"\n", args...) }

func (m *smallSteps) do(what string, f func() driver.Result) {
	require.NoError(m.t, m.d.enqueue(func() error { return m.d.Err(f(), what) }))
}

// ready is a program with a session, buffers and a queue.
func (m *smallSteps) ready(p *ir.Program) (*session, *queue, kernels.Launch) {
	t := m.t
	e, err := m.b.Compile(p, kernels.CompileOptions{Device: m.name})
	require.NoError(t, err)
	s, err := e.NewSession(kernels.SessionOptions{Device: m.name})
	require.NoError(t, err)
	q, err := m.b.NewQueue(m.name)
	require.NoError(t, err)
	l := kernels.Launch{Queue: q}
	take := func(typ ir.Type) kernels.Buffer {
		x, err := m.b.NewBuffer(m.name, typ)
		require.NoError(t, err)
		m.buffers = append(m.buffers, x)
		return x
	}
	for _, in := range p.Inputs {
		x := take(p.Type(in.Value))
		if p.Type(in.Value).Bytes() > 0 {
			fill(t, x)
		}
		l.Inputs = append(l.Inputs, x)
	}
	for _, out := range p.Outputs {
		if out.Alias >= 0 {
			l.Outputs = append(l.Outputs, nil)
			continue
		}
		l.Outputs = append(l.Outputs, take(p.Type(out.Value)))
	}
	for range captureAfter + 2 {
		require.NoError(t, s.Launch(t.Context(), l).Wait(t.Context()))
	}
	return s.(*session), q.(*queue), l
}

// close gives back what ready took.
func (m *smallSteps) close(s *session, q *queue) {
	s.Close()
	s.executable.Close()
	q.Close()
	for _, x := range m.buffers {
		x.Free()
	}
	m.buffers = nil
}

// device is the time of f on the device, which puts some work into the stream, in microseconds: the least of three.
func (m *smallSteps) device(f func() driver.Result) float64 {
	api, stream := m.d.API, m.d.Stream
	best := float32(1e9)
	for range 3 {
		var marks [2]driver.Handle
		for i := range marks {
			m.do("cuEventCreate", func() (r driver.Result) { marks[i], r = api.NewTimedEvent(); return r })
		}
		m.do("cuEventRecord", func() driver.Result { return api.RecordEvent(marks[0], stream) })
		m.do("cuGraphLaunch", f)
		m.do("cuEventRecord", func() driver.Result { return api.RecordEvent(marks[1], stream) })
		m.do("cuStreamSynchronize", func() driver.Result { return api.SynchronizeStream(stream) })
		ms, r := api.Elapsed(marks[0], marks[1])
		require.Equal(m.t, driver.Success, r)
		best = min(best, ms)
		for _, e := range marks {
			m.do("cuEventDestroy", func() driver.Result { return api.DestroyEvent(e) })
		}
	}
	return float64(best) * 1e3
}

// graph is the time of what f launches, captured so many times in a row, for each time.
func (m *smallSteps) graph(times int, f func() error) float64 {
	api, d := m.d.API, m.d
	var made, graph driver.Handle
	require.NoError(m.t, d.enqueue(func() error {
		if err := d.Err(api.BeginCapture(d.Stream), "cuStreamBeginCapture_v2"); err != nil {
			return err
		}
		for range times {
			if err := f(); err != nil {
				return err
			}
		}
		var r driver.Result
		if made, r = api.EndCapture(d.Stream); r != driver.Success {
			return d.Err(r, "cuStreamEndCapture")
		}
		graph, r = api.Instantiate(made)
		return d.Err(r, "cuGraphInstantiateWithFlags")
	}))
	us := m.device(func() driver.Result { return api.LaunchGraph(graph, d.Stream) }) / float64(times)
	m.do("cuGraphExecDestroy", func() driver.Result { return api.DestroyExecutable(graph) })
	m.do("cuGraphDestroy", func() driver.Result { return api.DestroyGraph(made) })
	return us
}

// median is the median time of f, which the host waits for, in microseconds.
func (m *smallSteps) median(f func()) float64 {
	all := make([]time.Duration, m.times)
	for i := range all {
		begin := time.Now()
		f()
		all[i] = time.Since(begin)
	}
	slices.Sort(all)
	return float64(all[len(all)/2]) / 1e3
}

// host times the host's calls.
func (m *smallSteps) host() {
	api, d := m.d.API, m.d
	block, err := d.takeBlock(4096)
	require.NoError(m.t, err)
	defer d.keepBlock(block)
	address, err := d.alloc(4096, "a copy")
	require.NoError(m.t, err)
	defer d.free(address, 4096)
	require.NoError(m.t, d.Enter())
	defer d.Leave()
	stream, memory := d.Stream, block.memory[:3136]
	synchronize := func() { api.SynchronizeStream(stream) }
	for _, c := range []struct {
		name    string
		f, then func()
	}{
		{"cuCtxSetCurrent with the thread's lock", func() { _ = d.Enter(); d.Leave() }, func() {}},
		{"copy to the device, call", func() { api.CopyToDevice(address, memory, stream) }, synchronize},
		{"copy to the device, and its end", func() { api.CopyToDevice(address, memory, stream); synchronize() }, func() {}},
		{"copy to the host, call", func() { api.CopyToHost(memory[:24], address, stream) }, synchronize},
		{"copy to the host, and its end", func() { api.CopyToHost(memory[:24], address, stream); synchronize() }, func() {}},
		{"record an event, call", func() { api.RecordEvent(block.event, stream) }, synchronize},
		{"record an event, and wait for it", func() { api.RecordEvent(block.event, stream); api.SynchronizeEvent(block.event) }, func() {}},
		{"record an event, and ask until it is over", func() {
			api.RecordEvent(block.event, stream)
			for api.QueryEvent(block.event) == driver.NotReady {
			}
		}, func() {}},
		{"synchronize an idle stream", synchronize, func() {}},
		{"copy in, copy out, event, wait", func() {
			api.CopyToDevice(address, memory, stream)
			api.CopyToHost(memory[:24], address, stream)
			api.RecordEvent(block.event, stream)
			api.SynchronizeEvent(block.event)
		}, func() {}},
		{"copy in, copy out, event, ask", func() {
			api.CopyToDevice(address, memory, stream)
			api.CopyToHost(memory[:24], address, stream)
			api.RecordEvent(block.event, stream)
			for api.QueryEvent(block.event) == driver.NotReady {
			}
		}, func() {}},
	} {
		all := make([]time.Duration, m.times)
		for i := range all {
			begin := time.Now()
			c.f()
			all[i] = time.Since(begin)
			c.then()
		}
		slices.Sort(all)
		m.say("%8.2f us  %s", float64(all[len(all)/2])/1e3, c.name)
	}
}

// step measures a whole program and its kernels.
func (m *smallSteps) step(name string, p *ir.Program) {
	t := m.t
	s, q, l := m.ready(p)
	defer m.close(s, q)
	wait := m.median(func() { require.NoError(t, s.Launch(t.Context(), l).Wait(t.Context())) })
	call := m.median(func() { s.Launch(t.Context(), l) })
	require.NoError(t, q.Wait(t.Context()))
	d := m.d
	row := 0.0
	if s.graph != 0 {
		row = m.device(func() (r driver.Result) {
			for range m.times {
				r = max(r, d.API.LaunchGraph(s.graph, d.Stream))
			}
			return r
		}) / float64(m.times)
	}
	m.say("\n%s: %d kernels; a graph in a row %.2f us, Launch %.2f us, Launch and Wait %.2f us", name, s.executable.plan.Launches, row, call, wait)
	sum := 0.0
	for i := range s.executable.plan.Steps {
		step := &s.executable.plan.Steps[i]
		if step.Kind != lower.Launch {
			continue
		}
		us := m.graph(min(m.times, 50), func() error { return s.kernel(step) })
		sum += us
		m.say("%8.2f us  %-28s %-34s grid %-16v block %4d shared %6d  %8.2f MB %10.3f MFLOP", us, step.Name, step.Scope, fmt.Sprint(step.Grid), step.Block, step.Shared, float64(step.Bytes)/1e6, float64(step.FLOPs)/1e6)
	}
	m.say("%8.2f us  in all", sum)
}

// cuts times a program whose product is cut in several ways.
func (m *smallSteps) cuts(name string, p *ir.Program, tiles []string, parts []int) {
	before := m.b.cut
	defer func() { m.b.cut = before }()
	for _, tile := range tiles {
		line := fmt.Sprintf("%s, %s:", name, tile)
		for _, n := range parts {
			m.b.cut = func(lower.Cut) lower.Cut { return lower.Cut{Tile: tile, Parts: n} }
			s, q, _ := m.ready(p)
			line += fmt.Sprintf("  %d: %.2f", n, m.graph(min(m.times, 50), func() error { return s.steps(s.executable.plan.Steps) }))
			m.close(s, q)
			if tile == plainTiles[0] {
				break // it has parts of its own
			}
		}
		m.say("%s us", line)
	}
}

// oneOp is a program of one operation on float32.
func oneOp(t testing.TB, op ir.Op, attrs ir.Attrs, shapes ...ir.Shape) *ir.Program {
	p := ir.New("single")
	var in []ir.Value
	for i, shape := range shapes {
		in = append(in, p.AddInput(fmt.Sprint("x", i), ir.Type{DType: ir.Float32, Shape: shape}))
	}
	y, err := p.Add("single", op, attrs, in...)
	require.NoError(t, err)
	p.AddOutput("y", y[0])
	return p
}

// TestHardwareSmallSteps writes small-steps.txt: where the time of steps of a few kernels goes.
func TestHardwareSmallSteps(t *testing.T) {
	b, name := hardware(t)
	d, err := b.(*backend).device(name)
	require.NoError(t, err)
	m := &smallSteps{t: t, b: b.(*backend), d: d, name: name, times: 100}
	if name.Kind != Kind {
		m.times = 2
	}
	defer func() {
		require.NoError(t, os.WriteFile(filepath.Join(os.Getenv("GOKERAS_GPU"), "small-steps.txt"), []byte(m.text.String()), 0o644))
		t.Log("\n" + m.text.String())
	}()
	m.host()
	if name.Kind != "fakecuda" { // which is slow
		for i, w := range workloads()[:2] {
			fresh := workloads()[i].network // layers belong to one strategy
			m.say("%8.2f us  a step of Fit, %s", milliseconds(stepTime(t, name.String(), "", 2*m.times, 64, w.shape, w.network, &optimizers.Adam{}))*1e3, w.name)
			m.say("%8.2f us  Predict of one example, %s", milliseconds(predictTime(t, name.String(), fresh, 2*m.times))*1e3, w.name)
		}
	}
	m.step("one number", oneOp(t, ir.Neg, nil, ir.Shape{1}))
	if name.Kind == "fakecuda" {
		m.cuts("8x16x8", oneOp(t, ir.Dot, ir.DotAttrs{LhsContract: []int{1}, RhsContract: []int{0}}, ir.Shape{8, 64}, ir.Shape{64, 8}), plainTiles, []int{1, 2})
		return
	}
	const batch = 64
	strategy, err := distribute.NewOneDeviceStrategy("cpu:0") // of models that are not run
	require.NoError(t, err)
	for _, w := range workloads() {
		model, err := keras.NewSequential(w.network, keras.InputShape(w.shape...), distribute.Scope(strategy), keras.Seed(1))
		require.NoError(t, err)
		train := trainingProgram(t, model, zeros(ir.Float32, batch, w.shape[0]), zeros(ir.Int32, batch))
		predict, err := model.InferenceProgram(1)
		require.NoError(t, err)
		for _, older := range []bool{false, true} { // products as devices without asynchronous copies make them
			name, before := w.name, m.b.cut
			if older {
				name += ", older kernels"
				m.b.cut = func(lower.Cut) lower.Cut { return lower.Cut{Tile: plainTiles[0]} }
			}
			m.step(name, train)
			m.step("predict one example, "+name, predict)
			m.b.cut = before
		}
	}
	m.say("\nproducts by tile and parts of k:")
	product := ir.DotAttrs{LhsContract: []int{1}, RhsContract: []int{0}}
	m.cuts("64x784x512", oneOp(t, ir.Dot, product, ir.Shape{64, 784}, ir.Shape{784, 512}), plainTiles, []int{1, 2, 4, 8, 16})
	m.cuts("64x512x10", oneOp(t, ir.Dot, product, ir.Shape{64, 512}, ir.Shape{512, 10}), plainTiles, []int{1, 4, 8, 16})
	m.cuts("784x64x512", oneOp(t, ir.Dot, ir.DotAttrs{LhsContract: []int{0}, RhsContract: []int{0}}, ir.Shape{64, 784}, ir.Shape{64, 512}), plainTiles, []int{1, 2})
	conv := ir.ConvAttrs{Strides: []int{1, 1}, Dilation: []int{1, 1}, PadLow: []int{0, 0}, PadHigh: []int{0, 0}, Groups: 1}
	x, w, y := ir.Shape{64, 13, 13, 32}, ir.Shape{3, 3, 32, 64}, ir.Shape{64, 11, 11, 64}
	m.cuts("3x3 of 64x13x13x32 to 64", oneOp(t, ir.Conv, conv, x, w), plainTiles, []int{1, 2, 4})
	m.cuts("its input's gradient", oneOp(t, ir.ConvInputGrad, ir.ConvGradAttrs{Conv: conv, Shape: x}, y, w), plainTiles, []int{1, 2, 4})
	m.cuts("its kernel's gradient", oneOp(t, ir.ConvKernelGrad, ir.ConvGradAttrs{Conv: conv, Shape: w}, x, y), plainTiles, []int{1, 4, 16, 32, 64})
	assert.NotEmpty(t, m.text.String())
}

// What measures small steps works on devices that do nothing, and in part on those that interpret kernels.
func TestSmallSteps(t *testing.T) {
	t.Setenv("GOKERAS_GPU", t.TempDir())
	for _, device := range []string{"countcuda:0", "fakecuda:0"} {
		t.Setenv("GOKERAS_GPU_DEVICE", device)
		TestHardwareSmallSteps(t)
	}
}
