//go:build linux

package cuda

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/cuda/internal/lower"
	"github.com/gokeras/gokeras/kernels/ir"
)

// If values can meet in several ways, each is timed when the devices are connected, with sums of a few sizes. The
// processes exchange their times, and the slowest counts, so that all choose alike. The choice is final. In one process
// it does not change the bits, since all ways form sums in the order of the replicas; NCCL is considered only if it was
// requested.

// choiceSizes are the sizes of the timed sums, in bytes.
var choiceSizes = []int{16 << 10, 256 << 10, 4 << 20}

// choice is the result of the measurement.
type choice struct {
	shares int // all-reduces of at least this many bytes are done in shares
	nccl   int // collectives of at least this many bytes go through NCCL, the others through windows
	times  map[string][]time.Duration
}

// never is larger than any value.
const never = math.MaxInt

// String is a sentence about how values meet.
func (c *choice) String() string {
	var parts []string
	add := func(limit int, below, above string) {
		switch {
		case limit <= choiceSizes[0]:
			parts = append(parts, above)
		case limit == never:
			parts = append(parts, below)
		default:
			parts = append(parts, fmt.Sprintf("%s below %d KiB, else %s", below, limit>>10, above))
		}
	}
	if _, both := c.times[throughNCCL]; both {
		add(c.nccl, "in windows", "through NCCL")
	}
	add(c.shares, "in one go", "in shares")
	return strings.Join(parts, "; ")
}

// Measured connects all GPUs of this machine, measures all-reduces of replicas on them, and says how these are done:
// "in one go below 256 KiB, else in shares". It returns an error for fewer than two GPUs.
func Measured(ctx context.Context) (string, error) { return own.measured(ctx) }

func (b *backend) measured(ctx context.Context) (string, error) {
	devices := b.Devices()
	if len(devices) < 2 {
		return "", fmt.Errorf("cuda: replicas need at least two GPUs, this machine has %d", len(devices))
	}
	all, err := b.NewCommunicators(ctx, kernels.CommunicatorOptions{Devices: devices})
	if err != nil {
		return "", err
	}
	c := all[0].(*communicator).group.choice
	for _, end := range all {
		end.Close()
	}
	if c == nil {
		return "", errors.New("cuda: nothing is measured here")
	}
	return c.String(), nil
}

// The ways that are timed.
const (
	atOnce      = "in one go"
	byShares    = "in shares"
	throughNCCL = "NCCL"
)

// from is the size from which on the second way is faster, or never if it is not faster for the largest size.
func from(first, second []time.Duration) int {
	limit := never
	for i := len(choiceSizes) - 1; i >= 0 && second[i] < first[i]; i-- {
		limit = choiceSizes[i]
	}
	if limit == choiceSizes[0] {
		return 0
	}
	return limit
}

// choose times the ways in which the devices can meet. exchange is nil for one process.
func (g *group) choose(ctx context.Context, exchange func(context.Context, []byte) ([][]byte, error)) error {
	both, _ := g.carrier().(*both)
	if g.backend.measure == nil || g.link != nil && both == nil && g.carrier().name() == throughNCCL {
		return nil
	}
	if exchange == nil {
		g.backend.choosing.Lock()
		defer g.backend.choosing.Unlock()
		if g.choice = g.backend.choices[fmt.Sprint(g.devicesInOrder())]; g.choice != nil {
			return nil
		}
	}
	ways := []string{atOnce, byShares}
	if both != nil {
		ways = append(ways, throughNCCL)
	}
	own := map[string][]time.Duration{}
	for _, way := range ways {
		g.choice = &choice{shares: map[bool]int{true: 0, false: never}[way == byShares], nccl: map[bool]int{true: 0, false: never}[way == throughNCCL]}
		var err error
		if own[way], err = g.time(ctx, way); err != nil {
			return fmt.Errorf("cuda: timing sums %s: %w", way, err)
		}
	}
	g.choice = nil
	slowest, err := slowestOf(ctx, own, exchange)
	if err != nil {
		return err
	}
	c := &choice{times: slowest, shares: from(slowest[atOnce], slowest[byShares]), nccl: never}
	if both != nil {
		best := make([]time.Duration, len(choiceSizes))
		for i := range best {
			best[i] = min(slowest[atOnce][i], slowest[byShares][i])
		}
		c.nccl = from(best, slowest[throughNCCL])
	}
	g.choice = c
	if exchange == nil {
		g.backend.choices[fmt.Sprint(g.devicesInOrder())] = c
	}
	return nil
}

func (g *group) devicesInOrder() (names []kernels.Device) {
	for _, d := range g.devices {
		names = append(names, d.name)
	}
	return names
}

// slowestOf are the longest times of all processes.
func slowestOf(ctx context.Context, own map[string][]time.Duration, exchange func(context.Context, []byte) ([][]byte, error)) (map[string][]time.Duration, error) {
	if exchange == nil {
		return own, nil
	}
	data, err := json.Marshal(own)
	if err != nil {
		return nil, err
	}
	all, err := exchange(ctx, data)
	if err != nil {
		return nil, err
	}
	for rank, text := range all {
		var other map[string][]time.Duration
		err := json.Unmarshal(text, &other)
		for way, times := range own {
			if err == nil && len(other[way]) != len(times) {
				err = fmt.Errorf("%d times of %q, expected %d", len(other[way]), way, len(times))
			}
			for i := range times {
				if err == nil {
					times[i] = max(times[i], other[way][i])
				}
			}
		}
		if err != nil {
			return nil, fmt.Errorf("cuda: worker %d tells of its times in a form that is not understood (%w); all workers need the same program", rank, err)
		}
	}
	return own, nil
}

// timed is the time of one of several runs, after as many warm-up runs.
func timed(_ string, _ int, run func(times int) error) (time.Duration, error) {
	const times = 5
	if err := run(times); err != nil {
		return 0, err
	}
	begin := time.Now()
	err := run(times)
	return time.Since(begin) / times, err
}

// exercise is a step that sums so many bytes of all replicas.
type exercise struct {
	launches []func() kernels.Event
	close    []func()
}

func (g *group) exercise(ctx context.Context, bytes int) (x *exercise, err error) {
	n := len(g.devices)
	if g.link != nil {
		n = g.link.ranks
	}
	x = &exercise{}
	defer func() {
		if err != nil {
			x.end()
		}
	}()
	b := &builder{Program: ir.New("measurement")}
	v := b.AddInput("x", ir.Type{DType: ir.Float32, Shape: ir.Shape{bytes / 4}})
	b.AddAlias("x", b.add(ir.AllReduce, ir.CollectiveAttrs{Kind: ir.Sum, Replicas: n}, v), 0)
	if b.err != nil {
		return x, b.err
	}
	e, err := g.backend.Compile(b.Program, kernels.CompileOptions{Device: g.devices[0].name, Replicas: n})
	if err != nil {
		return x, err
	}
	x.close = append(x.close, e.Close)
	for i, d := range g.devices {
		s, err := e.NewSession(kernels.SessionOptions{Device: d.name, Replica: i})
		if err != nil {
			return x, err
		}
		x.close = append(x.close, s.Close)
		buffer, err := d.newBuffer(b.Type(v))
		if err != nil {
			return x, err
		}
		x.close = append(x.close, buffer.Free)
		q, err := d.newQueue(g.backend)
		if err != nil {
			return x, err
		}
		x.close = append(x.close, q.Close)
		l := kernels.Launch{Queue: q, Inputs: []kernels.Buffer{buffer}, Outputs: []kernels.Buffer{nil}, Communicator: &communicator{group: g, replica: i}}
		x.launches = append(x.launches, func() kernels.Event { return s.Launch(ctx, l) })
	}
	return x, nil
}

// run does the step so often, and waits for the last.
func (x *exercise) run(ctx context.Context, times int) (failed error) {
	var events []kernels.Event
	for range times {
		events = events[:0]
		for _, launch := range x.launches {
			events = append(events, launch())
		}
	}
	for _, event := range events {
		failed = errors.Join(failed, event.Wait(ctx))
	}
	return failed
}

func (x *exercise) end() {
	for _, f := range slices.Backward(x.close) {
		f()
	}
}

// time measures a way with sums of each size.
func (g *group) time(ctx context.Context, way string) (all []time.Duration, err error) {
	for _, bytes := range choiceSizes {
		x, err := g.exercise(ctx, bytes)
		if err != nil {
			return nil, err
		}
		took, err := g.backend.measure(way, bytes, func(times int) error { return x.run(ctx, times) })
		x.end()
		if err != nil {
			return nil, err
		}
		all = append(all, took)
	}
	return all, nil
}

// carrier is that of the group's link; nil where there is none.
func (g *group) carrier() carrier {
	if g.link == nil {
		return nil
	}
	return g.link.carrier
}

// both is a link through windows and NCCL: small collectives go through windows, large ones through NCCL.
type both struct {
	*windows
	nccl *ends
}

func (b *both) name() string { return b.windows.name() + ", or in " + b.nccl.name() }

func (b *both) plan(g *group, replica int, step *lower.Step) (*combining, error) {
	total := 0
	for _, v := range step.Values[:len(step.Values)/2] {
		total += v.Type.Bytes()
	}
	if g.choice != nil && total >= g.choice.nccl {
		return b.nccl.plan(g, replica, step)
	}
	return b.windows.plan(g, replica, step)
}

func (b *both) collect(g *group) (int, error) {
	if g.of(0).linked != nil {
		return b.nccl.collect(g)
	}
	return b.windows.collect(g)
}

func (b *both) lost(i int) error { return b.nccl.lost(i) }

func (b *both) abort() {
	b.windows.abort()
	b.nccl.abort()
}

func (b *both) finish(ctx context.Context) error {
	return errors.Join(b.windows.finish(ctx), b.nccl.finish(ctx))
}

func (b *both) release() {
	b.nccl.release()
	b.windows.release()
}
