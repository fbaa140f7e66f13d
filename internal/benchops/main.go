package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"regexp"
	"runtime"
	"strings"
	"time"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/cpu"
	"github.com/gokeras/gokeras/layers"
)

// sizes are the elements of an operand: 128 KB, 2 MB and 64 MB in float32.
var sizes = []struct {
	name string
	n    int
}{{"L2", 1 << 15}, {"L3", 1 << 19}, {"beyond", 1 << 24}}

var device = kernels.Device{Kind: cpu.Kind}

func main() {
	python := flag.String("python", os.Getenv("BENCH_PYTHON"), "a Python that has keras, torch and jax; empty: ours alone")
	only := flag.String("only", "", "a regular expression for the functions to time")
	largest := flag.Int("sizes", len(sizes), "how many of the three sizes, the smallest first")
	rounds := flag.Int("rounds", 3, "how often every call is timed in each process")
	out := flag.String("out", "", "the file to write the table to; empty: standard output")
	copies := flag.Bool("copies", false, "compare with a copy of the same bytes only, and fail where an operation is too slow")
	flag.Parse()
	runtime.GOMAXPROCS(1)
	var err error
	if *copies {
		err = compareWithCopies(regexp.MustCompile(*only), *rounds)
	} else {
		err = table(*python, regexp.MustCompile(*only), *largest, *rounds, *out)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// timer times one call in this process.
type timer struct {
	e       *kernels.Loaded
	in, out []kernels.Buffer
	bytes   int
}

func newTimer(b benchmark, gradients bool) (*timer, error) {
	p, err := b.program(gradients)
	if err != nil {
		return nil, err
	}
	t := &timer{bytes: bytes(p)}
	if t.e, err = kernels.Load(cpu.Backend{}, p, device); err != nil {
		return nil, err
	}
	i := 0
	for _, a := range b.Arguments {
		for _, spec := range a.Tensors {
			x, err := cpu.Backend{}.NewBuffer(device, p.Type(p.Inputs[i].Value))
			if err != nil {
				return nil, err
			}
			fill(x.Bytes(), spec)
			t.in = append(t.in, x)
			i++
		}
	}
	for _, o := range p.Outputs {
		y, err := cpu.Backend{}.NewBuffer(device, p.Type(o.Value))
		if err != nil {
			return nil, err
		}
		t.out = append(t.out, y)
	}
	return t, t.run()
}

func (t *timer) run() error { return t.e.Run(context.Background(), t.in, t.out) }

// budget is how long a call is timed at a time.
const budget = 30 * time.Millisecond

// measure returns the shortest time of a call, in seconds, among those that fit into the budget.
func (t *timer) measure() (float64, error) { return shortest(t.run) }

func shortest(run func() error) (float64, error) {
	best := math.Inf(1)
	for begin := time.Now(); ; {
		from := time.Now()
		if err := run(); err != nil {
			return 0, err
		}
		best = min(best, time.Since(from).Seconds())
		if time.Since(begin) > budget {
			return best, nil
		}
	}
}

func (t *timer) close() {
	t.e.Close()
	for _, b := range append(t.in, t.out...) {
		b.Free()
	}
}

// multiple is how many times slower than a copy of the same bytes a call within the second-level cache may be.
func multiple(name string) float64 {
	for pattern, m := range slow {
		if regexp.MustCompile("^(" + pattern + ")$").MatchString(name) {
			return m
		}
	}
	return 40
}

// slow are calls that compute more, or in another order, than a pass over memory.
var slow = map[string]float64{
	".*sort|median|quantile|percentile|argpartition|sparsemax|det|inv|logdet|slogdet|i0|lcm|gcd|cum.*|nancum.*|bincount|searchsorted|digitize": 4000,
	".*conv.*|matmul|dot|dot_product_attention|gaussian_blur|resize|adaptive.*|power|top_k|.*_hsv|hsv_.*|sobel_edges|segment_.*":               1000,
}

func compareWithCopies(only *regexp.Regexp, rounds int) error {
	var failed []error
	for _, name := range layers.OperationNames() {
		if _, out := leftOut[name]; out || !only.MatchString(name) {
			continue
		}
		b, err := caseOf(name, sizes[0].n)
		if err != nil {
			return err
		}
		t, err := newTimer(b, false)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		from, to := make([]byte, t.bytes/2), make([]byte, t.bytes/2)
		ours, plain := math.Inf(1), math.Inf(1)
		for range rounds {
			d, err := t.measure()
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			ours = min(ours, d)
			d, _ = shortest(func() error { copy(to, from); return nil })
			plain = min(plain, d)
		}
		t.close()
		// Small programs take some microseconds whatever they compute.
		ratio, most := ours/(plain+2e-6), multiple(name)
		fmt.Printf("%-28s %8.1f us %7.1f copies of %d KB\n", name, ours*1e6, ratio, len(from)>>10)
		if ratio > most {
			failed = append(failed, fmt.Errorf("%s takes as long as %.0f copies of the same bytes, more than %.0f", name, ratio, most))
		}
	}
	return errors.Join(failed...)
}

func table(python string, only *regexp.Regexp, largest, rounds int, out string) error {
	peers, err := startPeers(python)
	if err != nil {
		return err
	}
	defer peers.stop()
	var s strings.Builder
	writeHead(&s)
	sum := summary{}
	for _, name := range layers.OperationNames() {
		if _, left := leftOut[name]; left || !only.MatchString(name) {
			continue
		}
		for _, size := range sizes[:min(largest, len(sizes))] {
			for _, gradients := range []bool{false, true} {
				b, err := caseOf(name, size.n)
				if err != nil {
					return err
				}
				r, err := measureRow(b, size.name, gradients, peers, rounds)
				if errors.Is(err, errNoGradient) {
					continue
				}
				if err != nil {
					return fmt.Errorf("%s: %w", name, err)
				}
				r.write(&s)
				sum.add(r)
				fmt.Fprintln(os.Stderr, r)
			}
		}
	}
	text := s.String() + sum.text()
	if out == "" {
		fmt.Print(text)
		return nil
	}
	return os.WriteFile(out, []byte(text), 0o644)
}
