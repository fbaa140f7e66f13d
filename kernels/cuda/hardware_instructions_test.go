//go:build linux

package cuda

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/cuda/internal/driver"
	"github.com/gokeras/gokeras/kernels/cuda/internal/ptx"
	"github.com/gokeras/gokeras/kernels/cuda/internal/ptxsim"
)

// hostile are numbers on which instructions differ, as bits of each type.
var hostile = map[string][]uint64{"pred": {0, 1}, "f16": nil, "f32": nil, "f64": nil, "32": nil, "64": nil}

func init() {
	for _, x := range []uint64{0, 1, 2, 7, 31, 32, 33, 63, 64, 65, 127, 128, 255, 256, 32767, 32768, 65535, 65536, 1 << 24, 1<<24 + 1, 1<<31 - 1, 1 << 31, 1<<31 + 1, 1<<32 - 128, 1<<32 - 7, 1<<32 - 2, 1<<32 - 1} {
		hostile["32"] = append(hostile["32"], x)
		hostile["64"] = append(hostile["64"], x, -x, x<<32, x*0x100000001)
	}
	hostile["64"] = append(hostile["64"], 1<<53, 1<<53+1, 1<<63-1, 1<<63, 1<<63+1, 1<<63+1<<39, 1<<63+1<<40+1, 1<<62+1)
	for _, x := range []uint32{0, 1, 2, 0x7fffff, 0x800000, 0x800001, 0xffffff, 0x1000000, 0x33000000, 0x33000001, 0x33800000, 0x387fffff, 0x38800000, 0x38801000, 0x3f7fffff, 0x3f800000, 0x3f800001, 0x3f801000, 0x3f801001, 0x3f808000, 0x3f818000, 0x3f000000,
		0x3fc00000, 0x40200000, 0x3eaaaaab, 0x40490fdb, 0x42b17218, 0x437f0000, 0x477fe000, 0x477fefff, 0x477ff000, 0x4b000000, 0x4b000001, 0x4b7fffff, 0x4effffff, 0x4f000000, 0x4f7fffff, 0x4f800000, 0x5effffff, 0x5f000000, 0x5f7fffff, 0x5f800000, 0x7e800000, 0x7f7fffff, 0x7f7f8000, 0x7f800000, 0x7f800001, 0x7fc00000, 0x7fc12345, 0x7fffffff} {
		hostile["f32"] = append(hostile["f32"], uint64(x), uint64(x|1<<31))
	}
	for _, x := range hostile["f32"] {
		hostile["f64"] = append(hostile["f64"], math.Float64bits(float64(math.Float32frombits(uint32(x)))))
	}
	for _, x := range []uint64{1, 0xfffffffffffff, 0x10000000000000, 0x3ff0000000000001, 0x3fefffffffffffff, 0x369fffffffffffff, 0x36a0000000000001, 0x380fffffffffffff, 0x47efffffefffffff, 0x47effffff0000000, 0x47efffffffffffff, 0x43dfffffffffffff, 0x43efffffffffffff, 0x7fefffffffffffff, 0x7ff0000000000001, 0x7ff8000000000123} {
		hostile["f64"] = append(hostile["f64"], x, x|1<<63)
	}
	for _, x := range []uint64{0, 1, 2, 0x3ff, 0x400, 0x401, 0x3bff, 0x3c00, 0x3c01, 0x7bff, 0x7c00, 0x7c01, 0x7dff, 0x7e00, 0x7e55, 0x7fff} {
		hostile["f16"] = append(hostile["f16"], x, x|1<<15)
	}
}

// signature is the types of an instruction's operands, the result first; nil: it is not one that is tried alone.
func signature(name string) []string {
	parts := strings.Split(name, ".")
	last := parts[len(parts)-1]
	switch op := parts[0]; op {
	case "ld", "st", "cvta", "cp", "atom", "fence", "nanosleep", "mbarrier", "elect", "griddepcontrol", "prefetch", "red", "membar":
		return nil
	case "cvt":
		if strings.HasSuffix(parts[len(parts)-2], "x2") {
			return []string{"b32", "f32", "f32"}
		}
		if parts[len(parts)-2] == "tf32" {
			return []string{"b32", "f32"}
		}
		return []string{parts[len(parts)-2], last}
	case "setp":
		return []string{"pred", last, last}
	case "selp":
		return []string{last, last, last, "pred"}
	case "shl", "shr":
		return []string{last, last, "u32"}
	case "mad", "fma":
		if parts[1] == "wide" {
			return []string{"u64", last, last, "u64"}
		}
		return []string{last, last, last, last}
	case "mul":
		if parts[1] == "wide" {
			return []string{last[:1] + "64", last, last}
		}
		return []string{last, last, last}
	case "not", "neg", "abs", "sqrt", "ex2", "mov":
		if name == "mov.pred" {
			return nil
		}
		return []string{last, last}
	case "add", "sub", "div", "rem", "min", "max", "and", "or", "xor", "copysign":
		return []string{last, last, last}
	}
	return nil
}

// values are what an operand of a type is tried with.
func values(typ string) []uint64 {
	switch {
	case hostile[typ] != nil:
		return hostile[typ]
	case typ[1:] == "64":
		return hostile["64"]
	}
	return hostile["32"]
}

// trial is a kernel of one instruction, and what it is tried with.
type trial struct {
	name     string
	types    []string
	operands [3][]uint64
	want     []uint64
}

// newTrial combines all values of two operands, and some of a third.
func newTrial(name string) *trial {
	types := signature(name)
	if types == nil {
		return nil
	}
	s := &trial{name: name, types: types}
	lists := [3][]uint64{{0}, {0}, {0}}
	for i, typ := range types[1:] {
		if lists[i] = values(typ); len(types) > 3 && i == 2 && len(lists[i]) > 12 {
			var some []uint64
			for j, x := range lists[i] {
				if j%(len(lists[i])/12) == 0 {
					some = append(some, x)
				}
			}
			lists[i] = some
		}
	}
	for _, a := range lists[0] {
		for _, b := range lists[1] {
			for _, c := range lists[2] {
				if integer := strings.HasPrefix(name, "div.u") || strings.HasPrefix(name, "div.s") || strings.HasPrefix(name, "rem."); integer && undefinedQuotient(types[1], a, b) {
					continue
				}
				for i, x := range [3]uint64{a, b, c} {
					s.operands[i] = append(s.operands[i], x)
				}
			}
		}
	}
	return s
}

// undefinedQuotient reports quotients that the manual leaves open, and that kernels ask for nowhere.
func undefinedQuotient(typ string, a, b uint64) bool {
	if strings.HasSuffix(typ, "32") {
		return uint32(b) == 0 || typ[0] == 's' && uint32(b) == math.MaxUint32
	}
	return b == 0 || typ[0] == 's' && b == math.MaxUint64
}

// text is the kernel: each thread takes operands of 64 bits, and leaves a result of 64.
func (s *trial) text(name string) string {
	k := &ptx.Kernel{MaxThreads: 128}
	in := [3]ptx.Operand{k.Pointer(), k.Pointer(), k.Pointer()}
	out, n := k.Pointer(), k.Param()
	exit := k.Label()
	thread := k.Op(ptx.B32, "mad.lo.s32", k.Op(ptx.B32, "mov.u32", ptx.Raw("%ctaid.x")), ptx.Int32(128), k.Op(ptx.B32, "mov.u32", ptx.Raw("%tid.x")))
	k.BranchIf(k.Op(ptx.Pred, "setp.ge.u32", thread, k.Op(ptx.B32, "cvt.u32.u64", n)), exit)
	var operands []ptx.Operand
	for i, typ := range s.types[1:] {
		x := k.Op(ptx.B64, "ld.global.b64", ptx.Raw("["+k.Op(ptx.B64, "mad.wide.u32", thread, ptx.Int32(8), in[i]).String()+"]"))
		switch c := registerOf(typ); c {
		case ptx.B64:
		case ptx.F64:
			x = k.Op(c, "mov.b64", x)
		default:
			x = k.Op(ptx.B32, "cvt.u32.u64", x)
			switch c {
			case ptx.F32:
				x = k.Op(c, "mov.b32", x)
			case ptx.B16:
				x = k.Op(c, "cvt.u16.u32", x)
			case ptx.Pred:
				x = k.Op(c, "setp.ne.s32", x, ptx.Int32(0))
			}
		}
		operands = append(operands, x)
	}
	r := k.Op(registerOf(s.types[0]), s.name, operands...)
	switch r.Class {
	case ptx.F64:
		r = k.Op(ptx.B64, "mov.b64", r)
	case ptx.F32:
		r = k.Op(ptx.B32, "mov.b32", r)
	case ptx.B16:
		r = k.Op(ptx.B32, "cvt.u32.u16", r)
	case ptx.Pred:
		r = k.Op(ptx.B32, "selp.b32", ptx.Int32(1), ptx.Int32(0), r)
	}
	if r.Class == ptx.B32 {
		r = k.Op(ptx.B64, "cvt.u64.u32", r)
	}
	k.To(ptx.Raw("["+k.Op(ptx.B64, "mad.wide.u32", thread, ptx.Int32(8), out).String()+"]"), "st.global.b64", r)
	k.Place(exit)
	return k.Text(name)
}

func registerOf(typ string) ptx.Class {
	switch typ {
	case "pred":
		return ptx.Pred
	case "f16", "u16":
		return ptx.B16
	case "f32":
		return ptx.F32
	case "f64":
		return ptx.F64
	case "u64", "s64", "b64":
		return ptx.B64
	}
	return ptx.B32
}

func words(x []uint64) []byte {
	b := make([]byte, 8*len(x))
	for i, w := range x {
		binary.LittleEndian.PutUint64(b[8*i:], w)
	}
	return b
}

// expect runs the kernel in the interpreter.
func (s *trial) expect(t testing.TB, text string) {
	m, err := ptxsim.Parse(text)
	require.NoError(t, err, s.name)
	var memory ptxsim.Memory
	n := len(s.operands[0])
	args := make([]uint64, 5)
	for i, x := range s.operands {
		args[i] = memory.Alloc(8 * n)
		copy(memory.At(args[i]), words(x))
	}
	args[3], args[4] = memory.Alloc(8*n), uint64(n)
	require.NoError(t, m.Kernels["trial"].Run(ptxsim.Launch{Grid: [3]int{(n + 127) / 128, 1, 1}, Block: 128, Args: args, Memory: &memory}), s.name)
	s.want = make([]uint64, n)
	for i := range s.want {
		s.want[i] = binary.LittleEndian.Uint64(memory.At(args[3])[8*i:])
	}
}

// run runs the kernel on the device.
func (s *trial) run(t testing.TB, d *driver.Device, text string) []uint64 {
	require.NoError(t, d.Enter())
	defer d.Leave()
	ok := func(r driver.Result, call string) { require.NoError(t, d.Err(r, call), s.name) }
	module, log, r := d.API.LoadModule(text)
	require.NoError(t, d.Err(r, "cuModuleLoadDataEx"), "%s: %s", s.name, log)
	defer d.API.UnloadModule(module)
	f, r := d.API.Function(module, "trial")
	ok(r, "cuModuleGetFunction")
	n := len(s.operands[0])
	host, r := d.API.HostAlloc(8 * n)
	ok(r, "cuMemHostAlloc")
	defer d.API.HostFree(host)
	args := make([]uint64, 5)
	for i := range 4 {
		a, r := d.API.Alloc(int64(8*n), d.Stream)
		ok(r, "cuMemAllocAsync")
		defer d.API.Free(a, d.Stream)
		if args[i] = uint64(a); i < 3 {
			copy(host, words(s.operands[i]))
			ok(d.API.CopyToDevice(a, host, d.Stream), "cuMemcpyHtoDAsync")
			ok(d.API.SynchronizeStream(d.Stream), "cuStreamSynchronize")
		}
	}
	args[4] = uint64(n)
	ok(d.API.Launch(f, driver.Config{Grid: [3]uint32{uint32(n+127) / 128, 1, 1}, Block: 128, Stream: d.Stream}, args), "cuLaunchKernel")
	ok(d.API.CopyToHost(host, driver.Address(args[3]), d.Stream), "cuMemcpyDtoHAsync")
	ok(d.API.SynchronizeStream(d.Stream), "cuStreamSynchronize")
	got := make([]uint64, n)
	for i := range got {
		got[i] = binary.LittleEndian.Uint64(host[8*i:])
	}
	return got
}

// same compares bits, but for what the manual leaves open: which NaN float64 instructions give, and the last bits of
// ex2.approx.
func (s *trial) same(got, want uint64) bool {
	if got == want {
		return true
	}
	switch s.types[0] {
	case "f64":
		x, y := math.Float64frombits(got), math.Float64frombits(want)
		return x != x && y != y
	case "f32":
		x, y := math.Float32frombits(uint32(got)), math.Float32frombits(uint32(want))
		if s.name == "ex2.approx.f32" {
			return math.Abs(float64(x-y)) <= math.Ldexp(math.Abs(float64(y)), -22)
		}
	}
	return false
}

// Each instruction that kernels have gives on the device what the interpreter gives, for numbers on which it is easy to
// differ. What differs is written into instructions.txt.
func TestHardwareInstructions(t *testing.T) {
	b, d := hardware(t)
	opened, err := b.(*backend).device(d)
	require.NoError(t, err)
	var report strings.Builder
	defer func() {
		folder := os.Getenv("GOKERAS_GPU")
		require.NoError(t, os.WriteFile(filepath.Join(folder, "instructions.txt"), []byte(report.String()), 0o644))
	}()
	for _, name := range ptxsim.Instructions() {
		if signature(name) != nil {
			t.Run(name, func(t *testing.T) { newTrial(name).compare(t, opened.Device, &report) })
		}
	}
	fmt.Fprintf(&report, "the end\n")
}

// compare runs the trial here and there, and writes a report of some differences.
func (s *trial) compare(t *testing.T, d *driver.Device, report io.Writer) {
	text := ptx.HeaderAmpere + s.text("trial")
	s.expect(t, text)
	differ, open := 0, 0
	for i, got := range s.run(t, d, text) {
		if got == s.want[i] {
			continue
		}
		kind, count := "DIFFERS", &differ
		if s.same(got, s.want[i]) {
			kind, count = "open   ", &open
		}
		if *count++; *count <= 5 {
			fmt.Fprintf(report, "%s %s(%#x, %#x, %#x) = %#x, interpreted %#x\n", kind, s.name, s.operands[0][i], s.operands[1][i], s.operands[2][i], got, s.want[i])
		}
	}
	assert.Zero(t, differ, "%d of %d combinations differ", differ, len(s.want))
}

// What is tried: every instruction that a thread executes by itself, and that computes something.
func TestInstructionsAreTried(t *testing.T) {
	moves := regexp.MustCompile(`^(ld|st|cvta|cp|atom|fence|nanosleep|mbarrier|mov\.pred)`)
	for _, name := range ptxsim.Instructions() {
		if !moves.MatchString(name) {
			assert.NotNil(t, signature(name), name)
		}
	}
	s := newTrial("max.f32")
	s.expect(t, ptx.HeaderAmpere+s.text("trial"))
	assert.Len(t, s.want, len(hostile["f32"])*len(hostile["f32"]))
}

// What an H100 gave for NaN is what the interpreter gives.
func TestInterpretedNaN(t *testing.T) {
	for name, results := range map[string]map[uint64]uint64{
		"cvt.rn.f32.f64":    {0x7ff8000020000000: 0x7fc00001, 0xfff8000000000000: 0xffc00000, 0x7ff82468a0000000: 0x7fc12345},
		"cvt.rz.f32.f64":    {0xfff8000020000000: 0xffc00001, 0x7ff8000000000000: 0x7fc00000},
		"cvt.rna.tf32.f32":  {0x7f800001: 0x7f800000, 0xffc12345: 0xffc12000, 0x7fffffff: 0x7fffe000},
		"abs.f32":           {0xff800001: 0x7fffffff, 0x7fc12345: 0x7fffffff},
		"neg.f32":           {0x7fc00000: 0x7fffffff},
		"neg.f64":           {0xfff8000000000000: 0xfff8000000000000, 0x7ff82468a0000000: 0x7ff82468a0000000},
		"abs.f64":           {0xfff8000020000000: 0xfff8000020000000, 0x7ff0000000000001: 0x7ff8000000000001},
		"cvt.rn.f16.f32":    {0xffc00000: 0x7fff},
		"cvt.rn.bf16x2.f32": {0xffc00000: 0x7fff << 16},
	} {
		for operand, result := range results {
			s := &trial{name: name, types: signature(name), operands: [3][]uint64{{operand}, {0}, {0}}}
			s.expect(t, ptx.HeaderAmpere+s.text("trial"))
			assert.Equal(t, result, s.want[0], "%s(%#x)", name, operand)
		}
	}
}
