package cpu_test

import (
	"cmp"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gokeras/gokeras/kernels/cpu/internal/isa"
	"github.com/gokeras/gokeras/kernels/ir"
)

var inventory = flag.Bool("inventory", false, "time every elementwise operation on every type that it accepts, and list the slowest")

// fillElements writes numbers that every operation is defined for: those of b are no larger than the bits of a type.
func fillElements(op string, name string, t ir.Type, data []byte) {
	r := rand.New(rand.NewPCG(3, 9))
	for i := range t.Shape.Size() {
		var v float64
		switch {
		case t.DType == ir.Bool:
			v = float64(r.IntN(2))
		case !t.DType.IsFloat() && name == "b":
			v = float64(1 + r.IntN(7))
		case !t.DType.IsFloat():
			v = float64(r.IntN(120))
		case op == "acosh":
			v = 1 + 3*r.Float64()
		default:
			v = 0.05 + 0.9*r.Float64()
		}
		copy(data[i*t.DType.Size():], ir.AppendElement(nil, t.DType, v))
	}
}

// elementwiseTime is the shortest of several runs of a case, and the bytes that it moves.
func elementwiseTime(t *testing.T, c elementwiseCase, within time.Duration) (seconds float64, bytes int) {
	s := newSession(t, c.program)
	defer s.e.Close()
	for i, in := range c.program.Inputs {
		typ := c.program.Type(in.Value)
		fillElements(c.program.Nodes[0].Op.String(), in.Name, typ, s.inputs[i].Bytes())
		bytes += typ.Bytes()
	}
	bytes += c.program.Type(c.program.Outputs[0].Value).Bytes()
	return fastest(within, func() { s.run(t) }), bytes
}

// fastest is the shortest processor time of a call among those that fit into a while: other processes do not add to it.
func fastest(within time.Duration, f func()) float64 {
	clock := func() time.Duration {
		var now unix.Timespec
		if err := unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &now); err != nil {
			panic(err)
		}
		return time.Duration(now.Nano())
	}
	best, calls := math.Inf(1), 1
	for begin := clock(); clock()-begin < within || math.IsInf(best, 1); {
		from := clock()
		for range calls {
			f()
		}
		took := clock() - from
		best = min(best, took.Seconds()/float64(calls))
		if took < 50*time.Microsecond { // to look at the clock takes a microsecond under some hypervisors
			calls *= 2
		}
	}
	return best
}

// TestElementwiseInventory times every elementwise operation on every type beside a copy of the bytes that it moves, on
// one thread, with and without vector instructions, and lists what takes longest.
func TestElementwiseInventory(t *testing.T) {
	if !*inventory {
		t.Skip("a measurement of half a minute, not a test: make bench-elementwise")
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	type row struct {
		name          string
		copies, gain  float64
		perNanosecond float64
	}
	var rows []row
	const within = 3 * time.Millisecond
	for _, c := range elementwiseCases(false, func(d ir.DType) int { return (1 << 18) / d.Size() }) {
		active := isa.Active()
		ours, bytes := elementwiseTime(t, c, within)
		restore := isa.Override(isa.Portable)
		plain, _ := elementwiseTime(t, c, within)
		restore()
		if isa.Active() != active {
			t.Fatal("the instruction set has changed")
		}
		from, to := make([]byte, bytes/2), make([]byte, bytes/2)
		copied := fastest(within, func() { copy(to, from) })
		n := float64(c.program.Type(c.program.Outputs[0].Value).Shape.Size())
		rows = append(rows, row{c.name, ours / copied, plain / ours, n / ours / 1e9})
	}
	slices.SortFunc(rows, func(a, b row) int { return cmp.Compare(b.copies, a.copies) })
	for _, r := range rows {
		path := ""
		if r.gain < 1.4 && r.copies > 2 {
			path = "scalar"
		}
		fmt.Printf("%8.1f copies %7.3f elements/ns %6.1f of plain Go %-7s %s\n", r.copies, r.perNanosecond, r.gain, path, r.name)
	}
	fmt.Println(len(rows), "rows")
}
