// Command vec writes the assembly of package kernels/cpu/internal/vec and the Go file that declares and dispatches it.
//
// Every function works on whole vectors; the package handles the remaining elements. Functions exist for AVX2 and for
// AVX-512.
package main

import (
	"fmt"
	"go/format"
	"os"
	"path/filepath"
	"slices"
	"strings"

	. "github.com/gokeras/gokeras/internal/asmgen/vector"
)

// machine is what functions are recorded for: vectors of 16 floats if wide, else of 8.
type machine struct {
	Machine
	wide   bool
	inline bool // for inlining by package jit
	sized  bool // the function exists for float32 and float64
	double bool // this is the float64 one
	arm    bool // what is recorded for AVX2 is for arm64
}

// avx2 reports whether functions are recorded for AVX2 itself.
func (m machine) avx2() bool { return !m.wide && !m.arm }

var machines = []machine{{Machine: AVX2}, {Machine: AVX512, wide: true}}

func (m machine) bytes() int { return m.Bytes }

// number is the size of a float in bytes.
func (m machine) number() int {
	if m.double {
		return 8
	}
	return 4
}

func (m machine) vector() Vector { return NewVector(m.bytes()) }

// vectors are the vectors of a value that are computed side by side, to hide the latency of instructions.
type vectors []Vector

func (m machine) vectors(n int) vectors {
	v := make(vectors, n)
	for i := range v {
		v[i] = m.vector()
	}
	return v
}

// each calls f for every index.
func (v vectors) each(f func(i int)) {
	for i := range v {
		f(i)
	}
}

// loop emits a loop over n elements, a multiple of the vector length, that advances the pointers; body handles the
// vectors at the given byte offsets.
func (m machine) loop(unroll int, n Scalar, pointers []Scalar, body func(offsets []int)) {
	m.namedLoop("", unroll, n, pointers, body)
}

// namedLoop is loop for functions with several loops.
func (m machine) namedLoop(name string, unroll int, n Scalar, pointers []Scalar, body func(offsets []int)) {
	round := func(u int) {
		top, bottom := fmt.Sprintf("%sloop%d", name, u), fmt.Sprintf("%send%d", name, u)
		Label(top)
		JumpBelow(n, Number(u*m.bytes()/4), bottom)
		var offsets []int
		for i := range u {
			offsets = append(offsets, i*m.bytes())
		}
		body(offsets)
		for _, p := range pointers {
			Increase(p, Number(u*m.bytes()))
		}
		Decrease(n, Number(u*m.bytes()/4))
		Jump(top)
		Label(bottom)
	}
	if unroll > 1 {
		Unrolled(func() { round(unroll) })
	}
	round(1)
}

// function is an assembly function declared in the Go file; it exists for every machine.
type function struct {
	name       string // without the machine's suffix
	parameters string
	result     string
	table      string // the table that it is called through, by number
	wide       bool   // exists only for wide vectors
	sized      bool   // for float32, and with the suffix "Doubles" for float64
	double     bool   // the float64 one
}

var functions []function

// begin starts a function with the given Go signature, in which pointers are *float32 or unsafe.Pointer. Functions with
// a table are called by number, others by name; those for two float sizes by name and size.
func (m machine) begin(table, name, parameters, result string) {
	if m.sized {
		parameters = strings.ReplaceAll(parameters, "*float32", "unsafe.Pointer")
	} else if m.double {
		parameters = strings.ReplaceAll(parameters, "*float32", "*float64")
	}
	if m.double {
		name += "Doubles"
	}
	if !m.wide {
		functions = append(functions, function{name: name, parameters: parameters, result: result, table: table, sized: m.sized && !m.double, double: m.sized && m.double})
	}
	if Begin(m.Machine, name, parameters, result); m.double {
		Float64()
	}
}

func param(name string) Scalar { return Parameter(name) }

func (m machine) broadcast(p Scalar, index int) Vector {
	v := m.vector()
	Broadcast(v, Memory{Base: p, Offset: m.number() * index})
	return v
}

func main() {
	var err error
	switch {
	case len(os.Args) == 2:
		err = write(os.Args[1])
	case len(os.Args) == 3 && os.Args[1] == "-inlines":
		err = writeInlines(os.Args[2])
	default:
		fmt.Fprintln(os.Stderr, "usage: vec DIRECTORY, or vec -inlines FILE")
		os.Exit(2)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// write writes the files of both architectures to the package's directory.
func write(dir string) error {
	p := NewProgram()
	p.ShareLines = true
	for _, m := range machines {
		m.record()
	}
	if err := p.AMD64(filepath.Join(dir, "vec_amd64.s"), generator, "vec"); err != nil {
		return err
	}
	declared := functions
	p = NewProgram()
	forARM := machines[0]
	forARM.arm = true
	forARM.record()
	if err := p.NEON(filepath.Join(dir, "vec_arm64.s"), generator, onlyAMD64...); err != nil {
		return err
	}
	functions = declared
	for _, t := range []target{amd64, arm64} {
		text, err := t.goFile()
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, "vec_gen_"+t.arch+".go"), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

const generator = "internal/asmgen/vec"

// record records all functions.
func (m machine) record() {
	m.binaryKernels()
	m.unaryKernels()
	m.geluKernels()
	m.coarseKernels()
	m.scalarKernels()
	m.chain()
	m.reductions()
	m.sumLines()
	m.guards()
	m.masks()
	m.integers()
	m.expAffine()
	m.affineMul()
	m.bothSizes()
	m.rowKernels()
	m.channelDoubles()
	m.halfRowKernels()
	m.optimizers()
	m.rules()
	m.conversions()
	m.pairRows()
	m.roundPairs()
	m.widenRows()
	m.narrowRows()
	m.winograd()
	m.rowsAt()
	m.mixRows()
	m.mixManyRows()
	m.fetchRowsAt()
	m.softmaxRows()
	m.softmaxRowsGrad()
	m.softmaxHalves()
	m.scaleHalves()
	m.softmaxColumns()
	m.scaleColumns(false)
	m.scaleColumns(true)
	m.hideColumns()
	m.softmaxLines()
	m.softmaxLinesGrad()
	m.expSumLines()
	m.subtractLines()
	m.logSoftmaxLinesGrad()
	m.hideRows()
	m.fillRows()
	m.randomWords()
	m.drop()
	m.windowsFirst()
	m.windowsShare()
	m.hits()
	m.copyRows()
	m.within()
	m.fetchRows()
	m.lstm()
	m.gru()
	m.lanes()
	m.stridedKernels()
	m.doubles()
	m.layerNorm()
	m.layerNormDoubles()
	m.doubleKernels()
	m.expAffineDoubles()
	m.cells64()
	m.optimizers64()
	m.longs()
	m.smalls()
	m.smallPairs()
}

// target is an architecture, with the suffixes of its functions' names: for wide vectors, for other vectors, and for
// all.
type target struct {
	arch         string
	wide, narrow string
	comment      string
}

var (
	amd64 = target{"amd64", AVX512.Name, AVX2.Name, "for AVX-512 if wide is set, else for AVX2."}
	arm64 = target{"arm64", "", "NEON", "for NEON; wide means nothing here."}
)

// onlyAMD64 are the functions that are not needed on arm64.
var onlyAMD64 = []string{"pairRows", "narrowRowsAddedF16", "narrowRowsAddedBF16", "subtractRowsF16", "subtractRowsBF16",
	"strided2", "strided3", "strided4", "strided5", "strided6", "strided7", "strided8", "turns2", "turns3", "turns4", "apart2", "apart3", "apart4",
	"strided2of8", "strided3of8", "strided4of8", "turns2of8", "turns3of8", "turns4of8", "apart2of8", "apart3of8", "apart4of8",
	"strided2of16", "strided3of16", "strided4of16", "turns2of16", "turns3of16", "turns4of16", "apart2of16", "apart3of16", "apart4of16",
	"reversed", "repeated", "rearranged"}

// goFile returns the declarations, preceded by the functions that call the assembly.
func (t target) goFile() ([]byte, error) {
	var s strings.Builder
	s.WriteString("// Code generated by " + generator + "; DO NOT EDIT.\n\npackage vec\n\nimport \"unsafe\"\n\n" +
		"// The functions call... run one assembly function each, " + t.comment + " They are neither inlined nor\n" +
		"// leaves: assembly cannot be preempted, and a loop that calls nothing else would hold up the garbage collector until it ends.\n")
	mine := slices.DeleteFunc(slices.Clone(functions), func(f function) bool {
		return t.wide == "" && (f.wide || slices.Contains(onlyAMD64, f.name))
	})
	done := map[string]bool{}
	for _, f := range mine {
		if f.double {
			continue
		}
		if f.sized {
			fmt.Fprintf(&s, "\n//go:noinline\nfunc call%s(wide bool, bytes int, %s) {\n\tif bytes == 8 {\n", title(f.name), f.parameters)
			t.call(&s, function{name: f.name + "Doubles", parameters: f.parameters})
			s.WriteString("\treturn\n}\n")
			t.call(&s, f)
			s.WriteString("}\n")
			continue
		}
		if f.wide {
			fmt.Fprintf(&s, "\n//go:noinline\nfunc call%s(%s) {\n", title(f.name), f.parameters)
			t.call(&s, f)
			s.WriteString("}\n")
			continue
		}
		if f.table == "" {
			fmt.Fprintf(&s, "\n//go:noinline\nfunc call%s(wide bool, %s) %s {\n", title(f.name), f.parameters, f.result)
			t.call(&s, f)
			s.WriteString("}\n")
			continue
		}
		if done[f.table] {
			continue
		}
		done[f.table] = true
		fmt.Fprintf(&s, "\n//go:noinline\nfunc call%s(wide bool, op %sOp, %s) {\n\tswitch op {\n", title(f.table), f.table, f.parameters)
		for _, g := range mine {
			if g.table == f.table {
				fmt.Fprintf(&s, "\tcase op%s:\n", title(g.name))
				t.call(&s, g)
			}
		}
		s.WriteString("\t}\n}\n")
	}
	for _, f := range mine {
		for _, machine := range []string{t.narrow, t.wide} {
			if machine != "" && (!f.wide || machine == t.wide) {
				fmt.Fprintf(&s, "\n//go:noescape\nfunc %s%s(%s) %s\n", f.name, machine, f.parameters, f.result)
			}
		}
	}
	return format.Source([]byte(s.String()))
}

// call writes the call of f for the machine in use.
func (t target) call(s *strings.Builder, f function) {
	var arguments []string
	for _, p := range strings.Split(f.parameters, ", ") {
		arguments = append(arguments, strings.Fields(p)[0])
	}
	list, give := strings.Join(arguments, ", "), ""
	if f.result != "" {
		give = "return "
	}
	narrow := fmt.Sprintf("%s%s%s(%s)\n", give, f.name, t.narrow, list)
	switch wide := fmt.Sprintf("%s%s%s(%s)\n", give, f.name, t.wide, list); {
	case t.wide == "":
		s.WriteString(narrow)
	case f.wide:
		s.WriteString(wide)
	case f.result != "":
		fmt.Fprintf(s, "if wide {\n%s}\n%s", wide, narrow)
	default:
		fmt.Fprintf(s, "if wide {\n%s} else {\n%s}\n", wide, narrow)
	}
}

func title(name string) string { return strings.ToUpper(name[:1]) + name[1:] }
