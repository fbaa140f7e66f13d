// Command vec writes the assembly of package kernels/cpu/internal/vec and the Go file that declares and dispatches it.
//
// Every function works on whole vectors of float32; the package handles what is left over. All of them exist for AVX2 and for
// AVX-512.
package main

import (
	"flag"
	"fmt"
	"go/format"
	"os"
	"strings"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// machine is a processor family.
type machine struct{ wide bool }

func (m machine) name() string {
	if m.wide {
		return "AVX512"
	}
	return "AVX2"
}

func (m machine) bytes() int {
	if m.wide {
		return 64
	}
	return 32
}

func (m machine) vector() reg.VecVirtual {
	if m.wide {
		return ZMM()
	}
	return YMM()
}

// vectors are values of several vectors that are computed side by side, to hide the latency of the instructions.
type vectors []reg.VecVirtual

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

var constants = map[string]Mem{}

// constant returns the place of a 32-bit pattern repeated over a vector.
func constant(name string, bits uint32) Mem {
	if m, ok := constants[name]; ok {
		return m
	}
	m := GLOBL(name, 8|16) // RODATA|NOPTR
	for i := range 16 {
		DATA(i*4, U32(bits))
	}
	constants[name] = m
	return m
}

// mask is the result of a comparison: an opmask or a vector of all ones and zeros.
type mask struct {
	bits  reg.OpmaskVirtual
	lanes reg.VecVirtual
}

// Predicates of VCMPPS, all of them quiet.
const (
	equal        = 0
	unordered    = 3
	notEqual     = 4
	lessEqual    = 18
	lessThan     = 17
	greaterThan  = 30
	greaterEqual = 29
	notLessEq    = 22
)

// compare returns a predicate b.
func (m machine) compare(predicate int, a reg.VecVirtual, b Op) mask {
	if m.wide {
		k := K()
		VCMPPS(U8(predicate), b, a, k)
		return mask{bits: k}
	}
	v := YMM()
	VCMPPS(U8(predicate), b, a, v)
	return mask{lanes: v}
}

// blend moves src to dst where the mask is set.
func (m machine) blend(k mask, src Op, dst reg.VecVirtual) {
	if m.wide {
		VMOVUPS(src, k.bits, dst)
		return
	}
	VBLENDVPS(k.lanes, src, dst, dst)
}

// keep stores src where the mask is set and 0 elsewhere in dst.
func (m machine) keep(k mask, src Op, dst reg.VecVirtual) {
	if m.wide {
		VMOVUPS_Z(src, k.bits, dst)
		return
	}
	VANDPS(src, k.lanes, dst)
}

// or returns the union of two masks; it may destroy them.
func (m machine) or(a, b mask) mask {
	if m.wide {
		KORW(a.bits, b.bits, a.bits)
	} else {
		VORPS(a.lanes, b.lanes, a.lanes)
	}
	return a
}

// loop emits a loop over n elements (a multiple of the vector's) that advances the pointers; body handles the vectors at the
// given byte offsets.
func (m machine) loop(unroll int, n reg.GPVirtual, pointers []reg.GPVirtual, body func(offsets []int)) {
	m.namedLoop("", unroll, n, pointers, body)
}

// namedLoop is loop for functions that have several.
func (m machine) namedLoop(name string, unroll int, n reg.GPVirtual, pointers []reg.GPVirtual, body func(offsets []int)) {
	for _, u := range []int{unroll, 1} {
		top, bottom := fmt.Sprintf("%sloop%d", name, u), fmt.Sprintf("%send%d", name, u)
		Label(top)
		CMPQ(n, U32(u*m.bytes()/4))
		JB(LabelRef(bottom))
		var offsets []int
		for i := range u {
			offsets = append(offsets, i*m.bytes())
		}
		body(offsets)
		for _, p := range pointers {
			ADDQ(U32(u*m.bytes()), p)
		}
		SUBQ(U32(u*m.bytes()/4), n)
		JMP(LabelRef(top))
		Label(bottom)
		if unroll == 1 {
			break
		}
	}
}

// function is an assembly function in the Go file; it exists for every machine.
type function struct {
	name       string // without the machine
	parameters string
	result     string
	table      string // the dispatch by number it belongs to
}

var functions []function

// begin starts a function with Go's signature; pointers are written as *float32 or unsafe.Pointer there. A function with a table
// is called by number, the others by name.
func (m machine) begin(table, name, parameters, result string) {
	if !m.wide {
		functions = append(functions, function{name, parameters, result, table})
	}
	TEXT(name+m.name(), NOSPLIT, "func("+strings.NewReplacer("unsafe.Pointer", "uintptr", "*float32", "uintptr").Replace(parameters)+")"+result)
}

func end() {
	VZEROUPPER()
	RET()
}

func param(name string) reg.GPVirtual { return Load(Param(name), GP64()).(reg.GPVirtual) }

func (m machine) broadcast(p reg.GPVirtual, index int) reg.VecVirtual {
	v := m.vector()
	VBROADCASTSS(Mem{Base: p, Disp: 4 * index}, v)
	return v
}

func main() {
	dispatch := flag.String("dispatch", "", "Go file to write with the declarations and the dispatch")
	flag.Parse()
	for _, m := range []machine{{false}, {true}} {
		m.binaryKernels()
		m.unaryKernels()
		m.geluKernels()
		m.scalarKernels()
		m.chain()
		m.reductions()
		m.guards()
		m.masks()
		m.integers()
		m.expAffine()
		m.affineMul()
		m.rowKernels()
		m.optimizers()
		m.conversions()
		m.pooling()
		m.pixels()
		m.layerNorm()
		m.softmaxRows()
		m.softmaxRowsGrad()
		m.hideRows()
		m.fetchRows()
		m.lstm()
		m.gru()
		m.lanes()
	}
	if err := os.WriteFile(*dispatch, []byte(goFile()), 0o644); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	Generate()
}

// goFile returns the declarations and, in front of them, the functions that call the assembly.
func goFile() string {
	var s strings.Builder
	s.WriteString("// Code generated by internal/asmgen/vec; DO NOT EDIT.\n\npackage vec\n\nimport \"unsafe\"\n\n" +
		"// The functions call... run one assembly function each, for AVX-512 if wide is set, else for AVX2. They are neither inlined nor\n" +
		"// leaves: assembly cannot be preempted, and a loop that calls nothing else would hold up the garbage collector until it ends.\n")
	done := map[string]bool{}
	for _, f := range functions {
		if f.table == "" {
			fmt.Fprintf(&s, "\n//go:noinline\nfunc call%s(wide bool, %s) %s {\n", title(f.name), f.parameters, f.result)
			call(&s, "\t", f)
			s.WriteString("}\n")
			continue
		}
		if done[f.table] {
			continue
		}
		done[f.table] = true
		fmt.Fprintf(&s, "\n//go:noinline\nfunc call%s(wide bool, op %sOp, %s) {\n\tswitch op {\n", title(f.table), f.table, f.parameters)
		for _, g := range functions {
			if g.table == f.table {
				fmt.Fprintf(&s, "\tcase op%s:\n", title(g.name))
				call(&s, "\t\t", g)
			}
		}
		s.WriteString("\t}\n}\n")
	}
	for _, f := range functions {
		for _, m := range []machine{{false}, {true}} {
			fmt.Fprintf(&s, "\n//go:noescape\nfunc %s%s(%s) %s\n", f.name, m.name(), f.parameters, f.result)
		}
	}
	text, err := format.Source([]byte(s.String()))
	if err != nil {
		panic(err)
	}
	return string(text)
}

// call writes the call of f for the machine in force.
func call(s *strings.Builder, indent string, f function) {
	var arguments []string
	for _, p := range strings.Split(f.parameters, ", ") {
		arguments = append(arguments, strings.Fields(p)[0])
	}
	list := strings.Join(arguments, ", ")
	if f.result != "" {
		fmt.Fprintf(s, "%[1]sif wide {\n%[1]s\treturn %[2]sAVX512(%[3]s)\n%[1]s}\n%[1]sreturn %[2]sAVX2(%[3]s)\n", indent, f.name, list)
		return
	}
	fmt.Fprintf(s, "%[1]sif wide {\n%[1]s\t%[2]sAVX512(%[3]s)\n%[1]s} else {\n%[1]s\t%[2]sAVX2(%[3]s)\n%[1]s}\n", indent, f.name, list)
}

func title(name string) string { return strings.ToUpper(name[:1]) + name[1:] }
