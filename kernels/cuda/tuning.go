//go:build linux

package cuda

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/cuda/internal/lower"
	"github.com/gokeras/gokeras/kernels/ir"
)

// Large products and convolutions can be computed by kernels with tiles of several sizes. The fastest is measured when
// a program is compiled, once for each device, driver, operation and types, and remembered in the folder of compiled
// kernels. Later runs make the same choice, so that the bits stay the same, even if the usual kernel was chosen because
// measuring failed or the time was up. If nothing can be remembered, nothing is measured, nor is it for programs of
// several replicas, which must all choose alike.
//
// Results are also compared with those of the plainest kernel: sums of small whole numbers are exact in any order. A
// kernel that computes other bits is not used.

// tuningVariable is the environment variable that switches measuring off if it is "off".
const tuningVariable = "GOKERAS_CUDA_TUNING"

// tuning is what was measured.
type tuning struct {
	mu    sync.Mutex
	best  map[string]int // by question
	least int64          // floating point operations from which on measuring is worth the time
	left  time.Duration  // time that this process may still spend on measuring

	// measure times runs of a way; equal compares what it made with what the plainest one did.
	measure func(way string, run func(times int) error) (time.Duration, error)
	equal   func(way string, got, want []byte) bool
}

// newTuning may measure for some seconds. A product of 2^32 operations takes some ten microseconds.
func newTuning() *tuning {
	equal := func(_ string, got, want []byte) bool { return bytes.Equal(got, want) }
	return &tuning{best: map[string]int{}, least: 1 << 32, left: 10 * time.Second, measure: clocked, equal: equal}
}

// picker returns the function that chooses kernels for programs with these options; nil: the usual kernels.
func (b *backend) picker(name kernels.Device, o lower.Options) func(lower.Question) int {
	if b.pick != nil {
		return b.pick
	}
	if b.tuning == nil || o.Replicas > 1 || os.Getenv(tuningVariable) == "off" {
		return nil
	}
	return func(q lower.Question) int { return b.tuning.pick(b, name, o, q) }
}

// pick looks up a question, or measures.
func (t *tuning) pick(b *backend, name kernels.Device, o lower.Options, q lower.Question) int {
	if q.FLOPs < t.least {
		return q.Usual
	}
	d, err := b.device(name)
	if err != nil || d.kept == nil {
		return q.Usual
	}
	key := d.key(fmt.Sprintf("fastest of %v\n%v %+v\n%v", q.Ways, q.Node.Op, q.Node.Attrs, q.In))
	return t.answer(d, key, q.Ways, q.Usual, func() (int, error) { return t.fastest(b, d, o, q) })
}

// answer looks up the best answer, or measures and remembers it. If that fails, it is the usual one.
func (t *tuning) answer(d *device, key string, answers []string, usual int, measure func() (int, error)) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	if i, known := t.best[key]; known {
		return i
	}
	remembered := func() int { return slices.Index(answers, string(d.kept.Get(key))) }
	i := remembered()
	if i < 0 {
		if i = usual; t.left > 0 {
			begin := time.Now()
			if fastest, err := measure(); err == nil {
				i = fastest
			}
			t.left -= time.Since(begin)
		}
		if other := remembered(); other >= 0 { // another process was faster
			i = other
		} else if d.kept.Put(key, []byte(answers[i])) != nil {
			i = usual
		}
	}
	t.best[key] = i
	return i
}

// candidates are the usual way and its neighbours, and the plainest one, which is first.
func candidates(q lower.Question) []int {
	all := []int{len(q.Ways) - 1}
	for _, i := range []int{q.Usual, q.Usual - 1, q.Usual + 1, q.Usual + 2} {
		if i >= 0 && i < len(q.Ways) && !slices.Contains(all, i) {
			all = append(all, i)
		}
	}
	for _, i := range slices.Clone(all) { // the same tiles with operands copied in bulk
		if twin := slices.Index(q.Ways, q.Ways[i]+lower.BulkMark); twin >= 0 && !slices.Contains(all, twin) {
			all = append(all, twin)
		}
	}
	return all
}

// asked is a program with only the operation in question, with operands in memory.
type asked struct {
	p       *ir.Program
	buffers []kernels.Buffer
}

func (a *asked) free() {
	for _, x := range a.buffers {
		x.Free()
	}
}

func ask(d *device, q lower.Question) (*asked, error) {
	a := &asked{p: ir.New("measured")}
	var in []ir.Value
	for _, typ := range q.In {
		in = append(in, a.p.AddInput("", typ))
	}
	out, err := a.p.Add(q.Node.Scope, q.Node.Op, q.Node.Attrs, in...)
	if err != nil {
		return nil, err
	}
	a.p.AddOutput("", out[0])
	for i, typ := range append(slices.Clone(q.In), a.p.Type(out[0])) {
		x, err := d.newBuffer(typ)
		if err == nil {
			a.buffers = append(a.buffers, x)
			if i < len(q.In) {
				err = x.Write(wholeNumbers(typ, i))
			}
		}
		if err != nil {
			a.free()
			return nil, err
		}
	}
	return a, nil
}

// fastest measures.
func (t *tuning) fastest(b *backend, d *device, o lower.Options, q lower.Question) (best int, failed error) {
	a, err := ask(d, q)
	if err != nil {
		return 0, err
	}
	defer a.free()
	best, shortest := q.Usual, time.Duration(0)
	var want []byte
	for _, i := range candidates(q) {
		o.Pick = func(lower.Question) int { return i }
		got, took, err := t.time(b, d, a.p, o, q.Ways[i], a.buffers)
		if err != nil {
			return 0, err
		}
		if want == nil {
			want = got
		}
		if (shortest == 0 || took < shortest) && t.equal(q.Ways[i], got, want) {
			best, shortest = i, took
		}
	}
	return best, nil
}

// library looks up which library is faster than our kernel for a question, or measures; "" is none.
func (t *tuning) library(b *backend, name kernels.Device, o lower.Options, q lower.Question) string {
	if q.FLOPs < t.least {
		return ""
	}
	d, err := b.device(name)
	if err != nil || d.kept == nil {
		return ""
	}
	answers, names, after := []string{q.Ways[0]}, []string{""}, []int64{0}
	for i, l := range q.Libraries {
		found := b.findsBLAS()
		if l == lower.DNN {
			found = b.findsDNN()
		}
		if found.Path != "" && found.Problem == "" {
			answers, names, after = append(answers, l+" "+found.Version), append(names, l), append(after, q.After[i])
		}
	}
	if len(answers) == 1 {
		return ""
	}
	key := d.key(fmt.Sprintf("fastest of %v, then %d bytes\n%v %+v\n%v", answers, after, q.Node.Op, q.Node.Attrs, q.In))
	return names[t.answer(d, key, answers, 0, func() (int, error) { return t.faster(b, d, o, q, answers, names, after) })]
}

// faster compares a kernel with libraries. Operations after a library's product are counted as the time for their
// memory accesses.
func (t *tuning) faster(b *backend, d *device, o lower.Options, q lower.Question, answers, names []string, after []int64) (best int, failed error) {
	a, err := ask(d, q)
	if err != nil {
		return 0, err
	}
	defer a.free()
	o.Pick = func(own lower.Question) int { return slices.Index(own.Ways, q.Ways[0]) }
	o.Library = nil
	want, shortest, err := t.time(b, d, a.p, o, answers[0], a.buffers)
	if err != nil {
		return 0, err
	}
	for i := 1; i < len(answers); i++ {
		if after[i] > 0 && d.bandwidth() == 0 {
			continue
		}
		o.Library = func(lower.Question) string { return names[i] }
		got, took, err := t.time(b, d, a.p, o, answers[i], a.buffers)
		used := d.blas.used()
		if names[i] == lower.DNN {
			used = d.dnn.used()
		}
		if err != nil || !used || !t.equal(answers[i], got, want) {
			continue
		}
		if after[i] > 0 {
			took += time.Duration(float64(after[i]) / d.bandwidth() * float64(time.Second))
		}
		if took < shortest {
			best, shortest = i, took
		}
	}
	return best, nil
}

// time runs one way, and returns its results and how long it takes.
func (t *tuning) time(b *backend, d *device, p *ir.Program, o lower.Options, way string, buffers []kernels.Buffer) ([]byte, time.Duration, error) {
	plan, err := lower.Program(p, o)
	if err != nil {
		return nil, 0, err
	}
	e := b.executable(p, plan)
	defer e.Close()
	s, err := e.NewSession(kernels.SessionOptions{Device: d.name})
	if err != nil {
		return nil, 0, err
	}
	defer s.Close()
	last := len(buffers) - 1
	run := func(times int) error {
		var end kernels.Event
		for range times {
			end = s.Launch(context.Background(), kernels.Launch{Inputs: buffers[:last], Outputs: buffers[last:]})
		}
		return end.Wait(context.Background())
	}
	if err := run(1); err != nil {
		return nil, 0, err
	}
	got := make([]byte, p.Type(p.Outputs[0].Value).Bytes())
	if err := buffers[last].Read(got); err != nil {
		return nil, 0, err
	}
	took, err := t.measure(way, run)
	return got, took, err
}

// clocked is the shortest time of a run, of a few rounds of many.
func clocked(_ string, run func(times int) error) (time.Duration, error) {
	since := func(times int) (time.Duration, error) {
		begin := time.Now()
		err := run(times)
		return time.Since(begin) / time.Duration(times), err
	}
	if _, err := since(2); err != nil { // the third one is captured
		return 0, err
	}
	shortest, err := since(1)
	times := int(min(max(20*time.Millisecond/max(shortest, 1), 1), 20))
	for range 3 {
		if took, failed := since(times); failed == nil {
			shortest = min(shortest, took)
		} else {
			err = failed
		}
	}
	return shortest, err
}

// wholeNumbers are integers from -2 to 2, in an order with a long period.
func wholeNumbers(t ir.Type, seed int) []byte {
	data := make([]byte, t.Bytes())
	state := uint32(seed) + 1
	next := func() uint32 {
		state = state*1664525 + 1013904223
		return (state >> 16) % 5
	}
	bits := map[ir.DType][5]uint32{
		ir.BFloat16: {0, 0x3f80, 0x4000, 0xbf80, 0xc000}, ir.Float16: {0, 0x3c00, 0x4000, 0xbc00, 0xc000},
		ir.Float32: {0, 0x3f800000, 0x40000000, 0xbf800000, 0xc0000000},
	}[t.DType]
	size := t.DType.Size()
	for i := 0; i+size <= len(data); i += size {
		if size == 2 {
			binary.LittleEndian.PutUint16(data[i:], uint16(bits[next()]))
		} else {
			binary.LittleEndian.PutUint32(data[i:], bits[next()])
		}
	}
	return data
}
