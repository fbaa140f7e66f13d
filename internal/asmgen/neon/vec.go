package main

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// The NEON functions of package vec are the AVX2 ones, instruction by instruction: a register of eight floats becomes two of four. So they
// are the same algorithms with the same bits.
const (
	sourceAssembly = "../../kernels/cpu/internal/vec/vec_amd64.s"
	sourceDispatch = "../../kernels/cpu/internal/vec/vec_gen_amd64.go"
)

func emitVec() string {
	source, err := os.ReadFile(sourceAssembly)
	if err != nil {
		panic(err)
	}
	used := map[string]bool{}
	for _, part := range strings.Split(string(source), "\nTEXT ")[1:] {
		name, _, _ := strings.Cut(strings.TrimPrefix(part, "·"), "(")
		if base, ok := strings.CutSuffix(name, "AVX2"); ok && base != "chain" { // chains are for amd64 alone
			if write, ok := conversions[base]; ok {
				write()
				continue
			}
			f := newFunction(base, part)
			f.translate()
			for c := range f.constants {
				used[c] = true
			}
		}
	}
	emitConstants(string(source), used)
	return dispatchOf(sourceDispatch)
}

var (
	wideReturn = regexp.MustCompile(`(?s)\tif wide \{\n\t+return (\w+)AVX512\(([^)]*)\)\n\t*\}\n\t+return \w+AVX2\([^)]*\)`)
	wideCall   = regexp.MustCompile(`(?s)if wide \{\n\t+(\w+)AVX512\(([^)]*)\)\n\t+\} else \{\n\t+\w+AVX2\([^)]*\)\n\t+\}`)
	chainCall  = regexp.MustCompile(`(?s)\n//go:noinline\nfunc callChain.*?\n}\n`)
	chainStub  = regexp.MustCompile(`\n//go:noescape\nfunc chain\w+\([^\n]*\n`)
	wideStub   = regexp.MustCompile(`\n//go:noescape\nfunc \w+AVX512\([^\n]*\n`)
)

// dispatchOf returns the Go file with one function instead of two for each call.
func dispatchOf(file string) string {
	data, err := os.ReadFile(file)
	if err != nil {
		panic(err)
	}
	_, code, _ := strings.Cut(string(data), "\npackage ")
	code = "package " + code
	code = chainStub.ReplaceAllString(chainCall.ReplaceAllString(code, ""), "")
	code = wideReturn.ReplaceAllString(code, "\treturn ${1}NEON($2)")
	code = wideCall.ReplaceAllString(code, "${1}NEON($2)")
	code = wideStub.ReplaceAllString(code, "")
	code = strings.ReplaceAll(code, "AVX2(", "NEON(")
	return strings.Replace(code, "for AVX-512 if wide is set, else for AVX2.", "for NEON; wide means nothing here.", 1)
}

// emitConstants writes the constants, 16 bytes each.
func emitConstants(source string, used map[string]bool) {
	pattern := regexp.MustCompile(`DATA (\w+)<>\+0\(SB\)/4, \$(0x[0-9a-f]+)`)
	for _, m := range pattern.FindAllStringSubmatch(source, -1) {
		if used[m[1]] {
			fmt.Fprintf(&text, "\nDATA %[1]s<>+0(SB)/8, $0x%08[2]x%08[2]x\nDATA %[1]s<>+8(SB)/8, $0x%08[2]x%08[2]x\nGLOBL %[1]s<>(SB), RODATA|NOPTR, $16\n", m[1], number(m[2]))
		}
	}
}

func number(s string) int64 {
	n, err := strconv.ParseInt(strings.TrimPrefix(s, "$"), 0, 64)
	if err != nil {
		panic(err)
	}
	return n
}

// function is a function while it is translated.
type function struct {
	name, frame string
	lines       []string
	pairs       map[string]v // first of two registers, by number of the YMM register
	scratch     []v
	constants   map[string]bool
	flags       string // comparison that the next jump belongs to
	unique      int
}

var ymm = regexp.MustCompile(`\b[XY](\d+)\b`)

func newFunction(name, part string) *function {
	head, body, _ := strings.Cut(part, "\n")
	body, _, _ = strings.Cut(body, "\nDATA ")
	f := &function{name: name, frame: head[strings.Index(head, "$"):], pairs: map[string]v{}, constants: map[string]bool{}}
	for _, line := range strings.Split(body, "\n") {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "//") {
			f.lines = append(f.lines, line)
		}
	}
	for f.registers(); len(f.scratch) < 3; { // leave out the unrolled loop: the other one does it all
		from := slices.IndexFunc(f.lines, func(s string) bool { return s == "loop4:" || s == "loop2:" })
		to := slices.IndexFunc(f.lines, func(s string) bool { return s == "end4:" || s == "end2:" })
		if from < 0 || to < from {
			panic("too many registers in " + name)
		}
		f.lines = slices.Delete(f.lines, from, to+1)
		f.registers()
	}
	return f
}

// registers gives each register two, and lists those that are left.
func (f *function) registers() {
	clear(f.pairs)
	for _, line := range f.lines {
		for _, m := range ymm.FindAllStringSubmatch(line, -1) {
			if _, ok := f.pairs[m[1]]; !ok {
				f.pairs[m[1]] = v(2 * len(f.pairs))
			}
		}
	}
	f.scratch = nil
	for r := v(2 * len(f.pairs)); r < 32; r++ {
		f.scratch = append(f.scratch, r)
	}
}

// general are the registers for numbers; R19 and up are free for the translation.
var general = map[string]string{"AX": "R0", "CX": "R1", "DX": "R2", "BX": "R3", "SI": "R4", "DI": "R5", "R8": "R6", "R9": "R7", "R10": "R8",
	"R11": "R9", "R12": "R10", "R13": "R11", "R14": "R12", "R15": "R13"}

func (f *function) translate() {
	fmt.Fprintf(&text, "\n// %[1]sNEON is %[1]sAVX2 with two registers for one.\nTEXT ·%[1]sNEON(SB), NOSPLIT, %[2]s\n", f.name, f.frame)
	for _, line := range f.lines {
		if name, ok := strings.CutSuffix(line, ":"); ok {
			label(name)
			continue
		}
		op, rest, _ := strings.Cut(line, " ")
		var operands []string
		for _, s := range strings.Split(strings.TrimSpace(rest), ", ") {
			operands = append(operands, strings.TrimSpace(s))
		}
		if !f.number(op, operands) && !f.vector(op, operands) {
			panic(f.name + ": " + line)
		}
	}
}

// number translates instructions on numbers, and control flow.
func (f *function) number(op string, a []string) bool {
	value := func(s string) string {
		if strings.HasPrefix(s, "$") {
			return fmt.Sprintf("$%d", number(s))
		}
		return general[s]
	}
	switch op {
	case "RET":
		asm("RET")
	case "VZEROUPPER":
	case "JMP":
		asm("B %s", a[0])
	case "JB":
		asm("BLO %s", a[0])
	case "JNE":
		asm("BNE %s", a[0])
	case "JE":
		asm("BEQ %s", a[0])
	case "CMPQ":
		asm("CMP %s, %s", value(a[1]), value(a[0]))
	case "ADDQ":
		asm("ADD %s, %s", value(a[0]), value(a[1]))
	case "SUBQ":
		asm("SUBS %s, %s", value(a[0]), value(a[1]))
	case "DECQ":
		asm("SUBS $1, %s", general[a[0]])
	case "MOVQ":
		if strings.HasSuffix(a[0], "(FP)") {
			asm("MOVD %s, %s", a[0], general[a[1]])
		} else {
			asm("MOVD %s, %s", value(a[0]), value(a[1]))
		}
	case "PREFETCHT1":
		base, offset := f.address(a[0])
		asm("PRFM %d(%s), PLDL2KEEP", offset, base)
	case "LEAQ":
		base, offset := f.address(a[0])
		asm("ADD $%d, %s, %s", offset, base, general[a[1]])
	default:
		return false
	}
	return true
}

var (
	memory   = regexp.MustCompile(`^(-?\d+)?\((\w+)\)(?:\((\w+)\*(\d)\))?$`)
	constant = regexp.MustCompile(`^(\w+)<>\+0\(SB\)$`)
)

// address returns a base register and an offset; with an index, it computes the sum first.
func (f *function) address(s string) (base string, offset int64) {
	m := memory.FindStringSubmatch(s)
	if m == nil {
		panic(f.name + ": address " + s)
	}
	base = general[m[2]]
	if m[1] != "" {
		offset = number(m[1])
	}
	if m[3] != "" {
		shift := map[string]int{"1": 0, "2": 1, "4": 2, "8": 3}[m[4]]
		asm("ADD %s<<%d, %s, R19", general[m[3]], shift, base)
		base = "R19"
	}
	return base, offset
}

// source returns the registers that hold an operand's halves, which it loads into scratch registers if they are in memory.
func (f *function) source(s string, scratch int) [2]v {
	if m := ymm.FindStringSubmatch(s); m != nil && !strings.Contains(s, "(") {
		return [2]v{f.pairs[m[1]], f.pairs[m[1]] + 1}
	}
	at := f.scratch[scratch]
	if m := constant.FindStringSubmatch(s); m != nil {
		f.constants[m[1]] = true
		asm("MOVD $%s<>(SB), R20", m[1])
		asm("FMOVQ (R20), F%d", at)
		return [2]v{at, at}
	}
	base, offset := f.address(s)
	asm("FLDPQ %d(%s), (F%d, F%d)", offset, base, at, f.scratch[scratch+1])
	return [2]v{at, f.scratch[scratch+1]}
}

func (f *function) destination(s string) [2]v {
	m := ymm.FindStringSubmatch(s)
	return [2]v{f.pairs[m[1]], f.pairs[m[1]] + 1}
}

// simple are instructions dst = a op b, written op b, a, dst.
var simple = map[string]struct {
	name string
	code uint32
}{
	"VADDPS": {"fadd", 0x4e20d400}, "VSUBPS": {"fsub", 0x4ea0d400}, "VMULPS": {"fmul", 0x6e20dc00}, "VDIVPS": {"fdiv", 0x6e20fc00},
	"VANDPS": {"and", 0x4e201c00}, "VORPS": {"orr", 0x4ea01c00}, "VXORPS": {"eor", 0x6e201c00},
	"VPMULLD": {"mul", 0x4ea09c00}, "VPMAXSD": {"smax", 0x4ea06400}, "VPMINSD": {"smin", 0x4ea06c00},
	"VPADDD": {"add", 0x4ea08400}, "VPSUBD": {"sub", 0x6ea08400}, "VPAND": {"and", 0x4e201c00}, "VPOR": {"orr", 0x4ea01c00},
}

// vector translates instructions on vectors.
func (f *function) vector(op string, a []string) bool {
	k := float32s
	halves := func(do func(h int)) {
		n := 2
		if last := a[len(a)-1]; strings.HasPrefix(last, "X") {
			n = 1
		}
		for h := range n {
			do(h)
		}
	}
	if s, ok := simple[op]; ok {
		b, x, d := f.source(a[0], 0), f.source(a[1], 2), f.destination(a[2])
		halves(func(h int) { k.three(s.name, s.code, d[h], x[h], b[h]) })
		return true
	}
	if strings.HasPrefix(op, "VF") && len(a) == 3 {
		f.multiplyAdd(op, f.source(a[0], 0), f.source(a[1], 2), f.destination(a[2]))
		return true
	}
	switch op {
	case "VMOVUPS", "VMOVAPS", "VMOVDQU":
		f.move(a[0], a[1])
	case "VBROADCASTSS":
		base, offset := f.address(a[0])
		d := f.destination(a[1])
		asm("ADD $%d, %s, R19", offset, base)
		asm("VLD1R (R19), [%v.S4]", d[0])
		move(d[1], d[0])
	case "VSQRTPS":
		x, d := f.source(a[0], 0), f.destination(a[1])
		halves(func(h int) { k.two("fsqrt", 0x6ea1f800, d[h], x[h]) })
	case "VCVTPS2DQ":
		x, d := f.source(a[0], 0), f.destination(a[1])
		halves(func(h int) { k.two("fcvtns", 0x4e21a800, d[h], x[h]) })
	case "VCVTTPS2DQ":
		x, d := f.source(a[0], 0), f.destination(a[1])
		halves(func(h int) { k.two("fcvtzs", 0x4ea1b800, d[h], x[h]) })
	case "VCVTDQ2PS":
		x, d := f.source(a[0], 0), f.destination(a[1])
		halves(func(h int) { k.two("scvtf", 0x4e21d800, d[h], x[h]) })
	case "VROUNDPS":
		x, d := f.source(a[1], 0), f.destination(a[2])
		how := number(a[0]) & 3
		name, code := []string{"frintn", "frintm", "frintp", "frintz"}[how], []uint32{0x4e218800, 0x4e219800, 0x4ea18800, 0x4ea19800}[how]
		halves(func(h int) { k.two(name, code, d[h], x[h]) })
	case "VPSRAD", "VPSRLD", "VPSLLD":
		f.shift(op, uint32(number(a[0])), f.source(a[1], 0), f.destination(a[2]))
	case "VMAXPS", "VMINPS": // of a and b, b if either is NaN: a > b ? a : b
		b, x, d := f.source(a[0], 0), f.source(a[1], 2), f.destination(a[2])
		t := f.scratch[len(f.scratch)-1]
		halves(func(h int) {
			if op == "VMAXPS" {
				k.three("fcmgt", 0x6ea0e400, t, x[h], b[h])
			} else {
				k.three("fcmgt", 0x6ea0e400, t, b[h], x[h])
			}
			k.three("bsl", 0x6e601c00, t, x[h], b[h])
			move(d[h], t)
		})
	case "VCMPPS":
		f.compare(number(a[0]), f.source(a[1], 0), f.source(a[2], 2), f.destination(a[3]))
	case "VBLENDVPS": // masks are all ones or all zeros in a lane
		mask, b, x, d := f.source(a[0], 0), f.source(a[1], 0), f.source(a[2], 2), f.destination(a[3])
		t := f.scratch[len(f.scratch)-1]
		halves(func(h int) {
			move(t, mask[h])
			k.three("bsl", 0x6e601c00, t, b[h], x[h])
			move(d[h], t)
		})
	case "VEXTRACTF128":
		d, x := f.destination(a[2]), f.source(a[1], 0)
		move(d[0], x[number(a[0])])
	case "VPERMILPS":
		d, x := f.destination(a[2]), f.source(a[1], 0)
		switch number(a[0]) {
		case 0x4e:
			asm("VEXT $8, %v.B16, %v.B16, %v.B16", x[0], x[0], d[0])
		case 0xb1:
			asm("VREV64 %v.S4, %v.S4", x[0], d[0])
		default:
			return false
		}
	case "VADDSS":
		b, x, d := f.source(a[0], 0), f.source(a[1], 2), f.destination(a[2])
		k.three("fadd", 0x4e20d400, d[0], x[0], b[0])
	case "MOVSS":
		asm("FMOVS F%d, %s", f.source(a[0], 0)[0], a[1])
	case "VMOVSS":
		base, offset := f.address(a[1])
		asm("FMOVS F%d, %d(%s)", f.source(a[0], 0)[0], offset, base)
	default:
		return false
	}
	return true
}

// multiplyAdd translates the three orders of a product and a sum: 231 adds to the destination, 213 multiplies it.
func (f *function) multiplyAdd(op string, c, b, d [2]v) {
	k := float32s
	fmla, fmls := uint32(0x4e20cc00), uint32(0x4ea0cc00)
	for h := range 2 {
		switch op {
		case "VFMADD231PS":
			k.three("fmla", fmla, d[h], b[h], c[h])
		case "VFNMADD231PS":
			k.three("fmls", fmls, d[h], b[h], c[h])
		case "VFMADD213PS", "VFNMADD213PS", "VFMSUB213PS":
			t := f.scratch[len(f.scratch)-1]
			if op == "VFMSUB213PS" {
				k.two("fneg", 0x6ea0f800, t, c[h])
			} else {
				move(t, c[h])
			}
			if op == "VFNMADD213PS" {
				k.three("fmls", fmls, t, b[h], d[h])
			} else {
				k.three("fmla", fmla, t, b[h], d[h])
			}
			move(d[h], t)
		default:
			panic(op)
		}
	}
}

// move loads, stores or copies.
func (f *function) move(from, to string) {
	if strings.Contains(to, "(") {
		base, offset := f.address(to)
		s := f.source(from, 0)
		asm("FSTPQ (F%d, F%d), %d(%s)", s[0], s[1], offset, base)
		return
	}
	d := f.destination(to)
	switch m := constant.FindStringSubmatch(from); {
	case m != nil:
		f.constants[m[1]] = true
		asm("MOVD $%s<>(SB), R20", m[1])
		asm("FMOVQ (R20), F%d", d[0])
		move(d[1], d[0])
	case strings.Contains(from, "("):
		base, offset := f.address(from)
		asm("FLDPQ %d(%s), (F%d, F%d)", offset, base, d[0], d[1])
	default:
		s := f.source(from, 0)
		if s != d {
			move(d[0], s[0])
			move(d[1], s[1])
		}
	}
}

func (f *function) shift(op string, by uint32, x, d [2]v) {
	for h := range 2 {
		shifted := func(name string, code uint32) {
			asm("WORD $0x%08x // %s v%d.4s, v%d.4s, #%d", code|uint32(x[h])<<5|uint32(d[h]), name, d[h], x[h], by)
		}
		switch op {
		case "VPSLLD":
			shifted("shl", 0x4f005400|(32+by)<<16)
		case "VPSRAD":
			shifted("sshr", 0x4f000400|(64-by)<<16)
		case "VPSRLD":
			shifted("ushr", 0x6f000400|(64-by)<<16)
		}
	}
}

// compare translates x predicate b.
func (f *function) compare(predicate int64, b, x, d [2]v) {
	k := float32s
	fcmgt, fcmge, fcmeq := uint32(0x6ea0e400), uint32(0x6e20e400), uint32(0x4e20e400)
	t := f.scratch[len(f.scratch)-1]
	for h := range 2 {
		not := func() { asm("WORD $0x%08x // not v%d.16b, v%d.16b", 0x6e205800|uint32(t)<<5|uint32(d[h]), d[h], t) }
		switch predicate {
		case 0:
			k.three("fcmeq", fcmeq, d[h], x[h], b[h])
		case 3:
			k.three("fcmeq", fcmeq, t, b[h], b[h])
			k.three("fcmeq", fcmeq, d[h], x[h], x[h])
			k.three("and", 0x4e201c00, t, t, d[h])
			not()
		case 17:
			k.three("fcmgt", fcmgt, d[h], b[h], x[h])
		case 18:
			k.three("fcmge", fcmge, d[h], b[h], x[h])
		case 4:
			k.three("fcmeq", fcmeq, t, x[h], b[h])
			not()
		case 30:
			k.three("fcmgt", fcmgt, d[h], x[h], b[h])
		case 22:
			k.three("fcmge", fcmge, t, b[h], x[h])
			not()
		default:
			panic(fmt.Sprint("predicate ", predicate))
		}
	}
}
