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

	"github.com/gokeras/gokeras/kernels/cpu"
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

// elementwiseTime returns the shortest time of several runs of a case, and the bytes that it moves.
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

// fastest returns the shortest processor time of a call among all that fit into the given time, but at least three.
// Other processes do not count.
func fastest(within time.Duration, f func()) float64 {
	clock := func() time.Duration {
		var now unix.Timespec
		if err := unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &now); err != nil {
			panic(err)
		}
		return time.Duration(now.Nano())
	}
	f() // touches its memory for the first time
	best, calls, times := math.Inf(1), 1, 0
	for begin := clock(); times < 3 || clock()-begin < within; times++ {
		from := clock()
		for range calls {
			f()
		}
		took := clock() - from
		best = min(best, took.Seconds()/float64(calls))
		if took < 50*time.Microsecond { // reading the clock takes a microsecond under some hypervisors
			calls *= 2
		}
	}
	return best
}

// elementwiseRow says how long a case takes relative to a copy of the bytes that it moves, and how many times as long
// plain Go takes.
type elementwiseRow struct {
	name         string
	copies, gain float64
	seconds      float64 // of an element
}

// timeRow times a case with the family in force.
func timeRow(t *testing.T, c elementwiseCase, within time.Duration) elementwiseRow {
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
	return elementwiseRow{c.name, ours / copied, plain / ours, ours / n}
}

// scalar reports whether the kernel seems to be plain Go, because it takes as long, and longer than memory does.
func (r *elementwiseRow) scalar() bool { return r.gain < 1.25 && r.copies > 3 }

// TestElementwiseInventory times every elementwise operation on every type, on one thread, with and without vector
// instructions, relative to a copy of the bytes that it moves. It lists the slowest ones.
func TestElementwiseInventory(t *testing.T) {
	if !*inventory {
		t.Skip("a measurement of half a minute, not a test: make bench-elementwise")
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	var rows []elementwiseRow
	for _, c := range elementwiseCases(false, func(d ir.DType) int { return (1 << 18) / d.Size() }) {
		rows = append(rows, timeRow(t, c, 3*time.Millisecond))
	}
	slices.SortFunc(rows, func(a, b elementwiseRow) int { return cmp.Compare(b.copies, a.copies) })
	for _, r := range rows {
		path := ""
		if r.scalar() {
			path = "scalar"
		}
		fmt.Printf("%8.1f copies %7.3f elements/ns %6.1f of plain Go %-7s %s\n", r.copies, 1e-9/r.seconds, r.gain, path, r.name)
	}
	fmt.Println(len(rows), "rows")
}

// withoutVectors lists operations for which a family has no vector kernel, or none that is faster than Go on every
// processor, and why.
var withoutVectors = []struct {
	operation string
	avx2      bool // on AVX2 alone
	reason    string
}{
	{"lgamma float64", false, "the asymptotic series of the vector kernel has the accuracy of float32"},
	{"pow int64", false, "AVX2 multiplies 64 bits in ten instructions, and powers take two products for each bit"},
	{"pow uint64", false, "as pow int64"},
	{"convert bool to int64", false, "it writes eight bytes for one that it reads, and Go is nearly as fast as memory"},
	{"erf float64", true, "the vector kernel computes the polynomials of all ranges, and takes as long as Go, which chooses one"},
	{"erf_inv float64", true, "as erf float64"},
	{"convert int64 to float32", true, "there is no instruction for vectors, and for one number there is: 1.3 times as fast on one processor may be less on others"},
	{"convert uint64 to float32", true, "as convert int64 to float32"},
}

// TestElementwiseVectors: every elementwise operation on every type that it accepts has a vector kernel in each family
// of this processor, as far as processor time shows. Exceptions are listed above. What seems as slow as plain Go is
// timed again, for longer and later, because other processes may have used the caches or the memory bandwidth.
// Conversions of 8-byte elements are close to that bandwidth even in plain Go.
func TestElementwiseVectors(t *testing.T) {
	if cpu.RaceDetector() || runtime.GOARCH != "amd64" {
		t.Skip("the race detector slows plain Go down, and an emulator of arm64 its vectors")
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	of := func(bytes int) []elementwiseCase {
		return elementwiseCases(false, func(d ir.DType) int { return bytes / d.Size() })
	}
	cases, longer := of(1<<13), of(1<<16)
	for _, path := range isa.Paths()[1:] {
		restore := isa.Override(path)
		listed := map[string]bool{}
		for _, e := range withoutVectors {
			listed[e.operation] = !e.avx2 || !path.Has(isa.Vectors512)
		}
		for i, c := range cases {
			within := 50 * time.Microsecond
			r := timeRow(t, c, within)
			for tries := 0; r.scalar() && !listed[c.name] && tries < 6; tries++ {
				within *= 3
				time.Sleep(time.Duration(tries) * 100 * time.Millisecond)
				r = timeRow(t, longer[i], within)
			}
			if r.scalar() && !listed[c.name] {
				t.Errorf("%v: %s takes as long as in plain Go (%.2f of it), %.1f copies of its bytes: it has no vector kernel; write one, or give the reason in withoutVectors",
					path, c.name, 1/r.gain, r.copies)
			}
		}
		restore()
	}
}
