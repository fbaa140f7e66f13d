package cpu_test

import (
	"cmp"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gokeras/gokeras/kernels/cpu"
	"github.com/gokeras/gokeras/kernels/ir"
)

var (
	chains       = flag.Int("chains", 0, "time so many random chains of each kind of elementwise operations, and list the slowest")
	chainsKind   = flag.String("chains-kind", "", "those of one kind alone, all of them listed")
	chainsPython = flag.String("chains-python", "", "write the same chains to this file, as a program in Python that times them with JAX")
)

// drawnChain is a chain of elementwise operations, together with its lines in Python.
type drawnChain struct {
	g      tape
	r      *rand.Rand
	n      int // elements
	values []drawnValue
	lines  []string
	inputs []string // their types in Python
}

type drawnValue struct {
	v    ir.Value
	name string
}

// chainOps are the operations of a kind of types, as Python writes them.
var chainOps = map[string][]struct {
	op     ir.Op
	python string // with %s for operands
}{
	"float": {{ir.Add, "%s + %s"}, {ir.Sub, "%s - %s"}, {ir.Mul, "%s * %s"}, {ir.Div, "%s / %s"}, {ir.Maximum, "jnp.maximum(%s, %s)"},
		{ir.Minimum, "jnp.minimum(%s, %s)"}, {ir.Neg, "-%s"}, {ir.Abs, "jnp.abs(%s)"}, {ir.Sqrt, "jnp.sqrt(%s)"}, {ir.Floor, "jnp.floor(%s)"}},
	"function": {{ir.Add, "%s + %s"}, {ir.Mul, "%s * %s"}, {ir.Exp, "jnp.exp(%s)"}, {ir.Log, "jnp.log(%s)"}, {ir.Tanh, "jnp.tanh(%s)"},
		{ir.Sigmoid, "jax.nn.sigmoid(%s)"}, {ir.Sin, "jnp.sin(%s)"}, {ir.Rsqrt, "jax.lax.rsqrt(%s)"}},
	"int": {{ir.Add, "%s + %s"}, {ir.Sub, "%s - %s"}, {ir.Mul, "%s * %s"}, {ir.Maximum, "jnp.maximum(%s, %s)"}, {ir.Minimum, "jnp.minimum(%s, %s)"},
		{ir.BitAnd, "%s & %s"}, {ir.BitOr, "%s | %s"}, {ir.BitXor, "%s ^ %s"}},
	"bool": {{ir.BitAnd, "%s & %s"}, {ir.BitOr, "%s | %s"}, {ir.BitXor, "%s ^ %s"}, {ir.Not, "~%s"}},
}

func (c *drawnChain) put(v ir.Value, python string) drawnValue {
	d := drawnValue{v, fmt.Sprint("v", len(c.lines))}
	c.lines = append(c.lines, d.name+" = "+python)
	c.values = append(c.values, d)
	return d
}

func (c *drawnChain) dtype(v drawnValue) ir.DType { return c.g.p.Type(v.v).DType }

// of returns the last value of a type, or another one, or an input if there is none.
func (c *drawnChain) of(d ir.DType, other bool) drawnValue {
	var found []drawnValue
	for _, v := range c.values {
		if c.dtype(v) == d {
			found = append(found, v)
		}
	}
	switch {
	case len(found) == 0 || other && len(found) == 1:
		name := string(rune('a' + len(c.inputs)))
		c.inputs = append(c.inputs, d.String())
		return c.put(c.g.input(name, d, c.n), name)
	case other:
		return found[c.r.IntN(len(found)-1)]
	}
	return found[len(found)-1]
}

// step adds an operation on the last value of a type.
func (c *drawnChain) step(d ir.DType, kind string) {
	x := c.of(d, false)
	if kind != "function" && d != ir.Bool && c.r.IntN(5) == 0 { // a comparison and a selection
		y := c.of(d, true)
		m := c.put(c.g.op(ir.Compare, ir.CompareAttrs{Direction: ir.Lt}, x.v, y.v), x.name+" < "+y.name)
		c.put(c.g.op(ir.Select, nil, m.v, x.v, y.v), fmt.Sprintf("jnp.where(%s, %s, %s)", m.name, x.name, y.name))
		return
	}
	o := chainOps[kind][c.r.IntN(len(chainOps[kind]))]
	if strings.Count(o.python, "%s") == 1 {
		c.put(c.g.op(o.op, nil, x.v), fmt.Sprintf(o.python, x.name))
		return
	}
	y := c.of(d, true)
	c.put(c.g.op(o.op, nil, x.v, y.v), fmt.Sprintf(o.python, x.name, y.name))
}

// drawChain draws a chain of three to eight operations on values of the types in turn.
func drawChain(r *rand.Rand, kind string, types []ir.DType) *drawnChain {
	c := &drawnChain{g: tape{p: &ir.Program{}}, r: r, n: 1 << 18}
	for _, d := range types {
		c.n = min(c.n, (1<<18)/d.Size())
	}
	d := types[0]
	for i := range 3 + r.IntN(6) {
		if to := types[r.IntN(len(types))]; i > 0 && to != d {
			x := c.of(d, false)
			c.put(c.g.op(ir.Convert, ir.ConvertAttrs{DType: to}, x.v), fmt.Sprintf("%s.astype(jnp.%s)", x.name, pythonType(to)))
			d = to
		}
		k := kind
		switch {
		case kind == "function":
		case d == ir.Bool:
			k = "bool"
		case d.IsFloat():
			k = "float"
		default:
			k = "int"
		}
		c.step(d, k)
	}
	c.g.p.AddOutput("y", c.values[len(c.values)-1].v)
	return c
}

func pythonType(d ir.DType) string {
	if d == ir.Bool {
		return "bool_"
	}
	return d.String()
}

// chainKinds are what is drawn.
var chainKinds = []struct {
	name, kind string
	types      []ir.DType
}{
	{"float32", "", []ir.DType{ir.Float32}}, {"float64", "", []ir.DType{ir.Float64}}, {"float16", "", []ir.DType{ir.Float16}},
	{"functions of float32", "function", []ir.DType{ir.Float32}}, {"functions of float64", "function", []ir.DType{ir.Float64}},
	{"int8", "", []ir.DType{ir.Int8}}, {"uint8", "", []ir.DType{ir.Uint8}}, {"int16", "", []ir.DType{ir.Int16}},
	{"int32", "", []ir.DType{ir.Int32}}, {"uint32", "", []ir.DType{ir.Uint32}}, {"int64", "", []ir.DType{ir.Int64}}, {"bool", "", []ir.DType{ir.Bool}},
	{"uint8 to float32", "", []ir.DType{ir.Uint8, ir.Float32}}, {"int32 and float32", "", []ir.DType{ir.Int32, ir.Float32}},
	{"float32 and float64", "", []ir.DType{ir.Float32, ir.Float64}}, {"int64 and float32", "", []ir.DType{ir.Int64, ir.Float32}},
	{"int32 and int64", "", []ir.DType{ir.Int32, ir.Int64}},
	{"any type", "", []ir.DType{ir.Float32, ir.Float64, ir.Int32, ir.Int64, ir.Uint8, ir.Bool, ir.Int16}},
}

// TestElementwiseChains times random chains on one thread, relative to a copy of the bytes that they move: as usual,
// and with operations one by one.
func TestElementwiseChains(t *testing.T) {
	if *chains == 0 {
		t.Skip("a measurement, not a test: make bench-chains")
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	const within = 2 * time.Millisecond
	var python strings.Builder
	python.WriteString(chainsHead)
	for _, k := range chainKinds {
		if *chainsKind != "" && *chainsKind != k.name {
			continue
		}
		r := rand.New(rand.NewPCG(11, 17))
		type row struct {
			copies, apart, perElement float64
			text                      string
		}
		var rows []row
		for i := range *chains {
			c := drawChain(r, k.kind, k.types)
			fmt.Fprintf(&python, "def f(%s):\n  %s\n  return %s\ntimed(%q, %d, f, %s)\n", strings.Join(strings.Split("abcdefghijklmnop"[:len(c.inputs)], ""), ", "),
				strings.Join(c.lines, "\n  "), c.values[len(c.values)-1].name, fmt.Sprint(k.name, " ", i), c.n, strings.Join(quoted(c.inputs), ", "))
			e := elementwiseCase{k.name, ir.Add, c.g.p}
			ours, bytes := elementwiseTime(t, e, within)
			apart := 0.0
			cpu.WithoutChains(func() { apart, _ = elementwiseTime(t, e, within) })
			from, to := make([]byte, bytes/2), make([]byte, bytes/2)
			copied := fastest(within, func() { copy(to, from) })
			n := float64(c.g.p.Type(c.g.p.Outputs[0].Value).Shape.Size())
			rows = append(rows, row{ours / copied, apart / copied, ours / n * 1e9, strings.Join(c.lines, "; ")})
		}
		slices.SortFunc(rows, func(a, b row) int { return cmp.Compare(a.copies, b.copies) })
		for _, r := range rows {
			if *chainsKind != "" {
				fmt.Printf("  %6.2f copies (one by one %6.2f) in %s\n", r.copies, r.apart, r.text)
			}
		}
		middle, last := rows[len(rows)/2], rows[len(rows)-1]
		fmt.Printf("%-22s median %5.2f copies (one by one %5.2f), worst %5.2f (%5.2f): %.3f ns an element in %s\n", k.name, middle.copies, middle.apart,
			last.copies, last.apart, last.perElement, last.text)
	}
	if *chainsPython != "" {
		if err := os.WriteFile(*chainsPython, []byte(python.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func quoted(list []string) (q []string) {
	for _, s := range list {
		q = append(q, fmt.Sprintf("%q", s))
	}
	return q
}

// chainsHead is the beginning of the program in Python.
const chainsHead = `import os, statistics, time
os.environ["JAX_PLATFORMS"] = "cpu"
import jax, jax.numpy as jnp, numpy as np
jax.config.update("jax_enable_x64", True)
rows = {}
def best(f):
  least, calls = 1e9, 1
  end = time.process_time() + 0.01
  while time.process_time() < end:
    begin = time.process_time()
    for _ in range(calls): f()
    took = time.process_time() - begin
    least = min(least, took / calls)
    if took < 1e-4: calls *= 2
  return least
def timed(name, n, f, *types):
  r = np.random.default_rng(3)
  x = []
  for t in types:
    d = np.dtype(t)
    v = r.uniform(0.05, 0.95, n) if d.kind == "f" else r.integers(0, 2 if d.kind == "b" else 100, n)
    x.append(jnp.asarray(v.astype(d)))
  g = jax.jit(f).lower(*x).compile()
  y = g(*x)
  size = sum(a.nbytes for a in x) + y.nbytes
  a, b = np.zeros(size // 2, np.uint8), np.zeros(size // 2, np.uint8)
  copied = best(lambda: np.copyto(a, b))
  rows.setdefault(name.rsplit(" ", 1)[0], []).append(best(lambda: g(*x).block_until_ready()) / copied)
import atexit
atexit.register(lambda: [print("%-22s jax median %5.2f copies, worst %5.2f" % (k, statistics.median(v), max(v))) for k, v in rows.items()])
`
