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
	"slices"
	"time"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/cpu"
	"github.com/gokeras/gokeras/layers"
)

// sizeClass is a number of elements with the name of the cache that holds them.
type sizeClass struct {
	name string
	n    int
}

// sizes are the elements of an operand: 128 KB, 2 MB and 64 MB in float32.
var sizes = []sizeClass{{"L2", 1 << 15}, {"L3", 1 << 19}, {"beyond", 1 << 24}}

// threads is how many each process may use. variants says which layers are timed: see variantCases.
var (
	threads  int
	variants bool
)

var device = kernels.Device{Kind: cpu.Kind}

func main() {
	python := flag.String("python", os.Getenv("BENCH_PYTHON"), "a Python that has keras, torch and jax; empty: ours alone")
	only := flag.String("only", "", "a regular expression for the functions to time")
	some := flag.String("sizes", ".", "a regular expression for the sizes: L2, L3, beyond")
	rounds := flag.Int("rounds", 3, "how often every call is timed in each process")
	out := flag.String("out", "", "the file to write the table to; empty: standard output")
	list := flag.String("rows", "", "a file of JSON lines, to which rows are added as they are measured; rows that it has already are not measured again")
	flag.DurationVar(&budget, "budget", budget, "how long a call is timed at a time")
	copies := flag.Bool("copies", false, "compare with a copy of the same bytes only, and fail where an operation is too slow")
	record := flag.String("record", "", "with -copies, the file to write what was measured to, as the next bars")
	flag.StringVar(&precision, "dtype", precision, "the element type of the operands: float32, float64, float16, bfloat16, int32, int64, int16, int8, uint8, or bool")
	random := flag.Int("random", 0, "with a number, compare that many random calls with copies of their bytes, of types, shapes and axes that no row has")
	seed := flag.Uint64("seed", 1, "of the random calls")
	steps := flag.Bool("steps", false, "print what each call runs, step by step, ours alone; with -random, what those random calls run")
	gradients := flag.Bool("gradients", false, "with -random, time gradients")
	jax := flag.Bool("jax", false, "with -random and -python, time JAX too, which takes seconds to compile some calls")
	flag.IntVar(&threads, "threads", 1, "how many threads each process may use; with more than one the time of day is measured, not the processor's")
	flag.BoolVar(&variants, "variants", false, "time layers in the configurations of variants.txt, instead of what has rows in the document")
	form := flag.Bool("forms", false, "with -python, time the functions of random calls with operands of the element type of -dtype, of each form that takes a way of its own")
	flag.Parse()
	runtime.GOMAXPROCS(threads)
	if err := checkPrecision(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	elements, err := elementsOf(*some)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	if *random > 0 && *steps {
		err = printRandomSteps(*seed, *random, elements, regexp.MustCompile(*only))
	} else if *form || *random > 0 && *python != "" {
		err = randomTable(*python, *jax, *seed, *random, elements, *rounds, regexp.MustCompile(*only), *list, *out)
	} else if *random > 0 {
		err = compareRandomCalls(*seed, *random, elements, *rounds, *gradients, regexp.MustCompile(*only))
	} else if *steps {
		err = printSteps(regexp.MustCompile(*only), regexp.MustCompile(*some))
	} else if *copies {
		err = compareWithCopies(regexp.MustCompile(*only), *rounds, *record)
	} else {
		err = table(*python, regexp.MustCompile(*only), regexp.MustCompile(*some), *rounds, *list, *out)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// elementsOf returns the number of elements of the first size that a regular expression matches.
func elementsOf(some string) (int, error) {
	pattern, err := regexp.Compile(some)
	if err != nil {
		return 0, fmt.Errorf("-sizes: %w", err)
	}
	k := slices.IndexFunc(sizes, func(s sizeClass) bool { return pattern.MatchString(s.name) })
	if k < 0 {
		return 0, fmt.Errorf("-sizes %q is none of L2, L3 and beyond; several are a regular expression, L2|L3", some)
	}
	return sizes[k].n, nil
}

// callCase is a function or a layer, for any number of elements.
type callCase struct {
	name string
	at   func(n int) (benchmark, error)
}

// timedCases lists what the flags ask for.
func timedCases() ([]callCase, error) {
	if variants {
		return variantCases()
	}
	return allCases(), nil
}

// allCases lists all that has rows: the functions, then the layers.
func allCases() (cases []callCase) {
	for _, name := range layers.OperationNames() {
		if _, left := leftOut[name]; !left {
			cases = append(cases, callCase{name, func(n int) (benchmark, error) { return caseOf(name, n) }})
		}
	}
	for _, class := range layerClasses() {
		if layerLeftOut(class) == "" {
			cases = append(cases, callCase{"layers." + class, func(n int) (benchmark, error) { return layerCase(class, n), nil }})
		}
	}
	return cases
}

// mostBytes is what a call may read and write: a function whose results are many times as large as its operands has no
// row beyond the third-level cache, for which the peers would need tens of gigabytes.
const mostBytes = 1 << 30

var errTooLarge = errors.New("is too large")

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
	t := &timer{bytes: traffic(p)}
	if t.bytes > mostBytes {
		return nil, errTooLarge
	}
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
			if a.Definite {
				makeDefinite(x.Bytes(), spec)
			}
			t.in = append(t.in, x)
			i++
		}
	}
	for ; i < len(p.Inputs); i++ { // weights, and what gradients begin with
		x, err := cpu.Backend{}.NewBuffer(device, p.Type(p.Inputs[i].Value))
		if err != nil {
			return nil, err
		}
		fill(x.Bytes(), tensor{p.Type(p.Inputs[i].Value).DType.String(), nil, -0.95, 0.95})
		t.in = append(t.in, x)
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
var budget = 30 * time.Millisecond

// measure returns the shortest processor time of a call, in seconds, among those that fit into the budget.
func (t *timer) measure() (float64, error) { return shortest(t.run) }

// batch is how long the calls take between two looks at the clock, which costs a microsecond under some hypervisors.
const batch = 50 * time.Microsecond

// start is when the process began.
var start = time.Now()

func shortest(run func() error) (float64, error) {
	best, calls := math.Inf(1), 1
	for begin := clock(); ; {
		from := clock()
		for range calls {
			if err := run(); err != nil {
				return 0, err
			}
		}
		now := clock()
		best = min(best, (now-from).Seconds()/float64(calls))
		if now-from < batch {
			calls *= 2
		}
		if now-begin > budget {
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

// randomTable times random calls beside PyTorch, and JAX where that is asked for.
func randomTable(python string, jax bool, seed uint64, count, elements, rounds int, only *regexp.Regexp, list, out string) error {
	names := []string{"torch"}
	if jax {
		names = append(names, "jax")
	}
	peers, err := startPeers(python, true, names...)
	if err != nil {
		return err
	}
	defer peers.stop()
	results, err := readResults(list)
	if err != nil {
		return err
	}
	if count == 0 {
		for _, b := range formCalls(elements, only) {
			if err := measureCall(b, false, rounds, regexp.MustCompile(""), peers, results); err != nil {
				return err
			}
		}
	} else if err := measureRandomCalls(seed, count, elements, rounds, only, peers, results); err != nil {
		return err
	}
	return write(out, results.text())
}

// write writes a text to a file, or to the standard output where there is none.
func write(out, text string) error {
	if out == "" {
		fmt.Print(text)
		return nil
	}
	return os.WriteFile(out, []byte(text), 0o644)
}

func table(python string, only, some *regexp.Regexp, rounds int, list, out string) error {
	peers, err := startPeers(python, wide(precision), "torch", "jax")
	if err != nil {
		return err
	}
	defer peers.stop()
	results, err := readResults(list)
	if err != nil {
		return err
	}
	cases, err := timedCases()
	if err != nil {
		return err
	}
	var failed []error
	for _, size := range sizes {
		for _, c := range cases {
			if !only.MatchString(c.name) || !some.MatchString(size.name) {
				continue
			}
			for _, gradients := range []bool{false, true} {
				b, err := c.at(size.n)
				if err != nil {
					return err
				}
				b, ok := b.in(precision)
				if !ok || results.has(b.Name, size.name, gradients) {
					continue
				}
				r, err := measureRow(b, size.name, gradients, peers, rounds)
				if errors.Is(err, errNoGradient) || errors.Is(err, errTooLarge) {
					continue
				}
				if err != nil {
					failed = append(failed, fmt.Errorf("%s: %w", c.name, err))
					continue
				}
				if err := results.add(r); err != nil {
					return err
				}
				fmt.Fprintln(os.Stderr, r)
			}
		}
	}
	return errors.Join(append(failed, write(out, results.text()))...)
}
