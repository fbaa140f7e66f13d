package vector

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// relu records, for each machine, dst = a·x where that is positive, else 0.
func relu() *Program {
	p := NewProgram()
	for _, m := range []Machine{AVX2, AVX512} {
		Begin(m, "relu", "dst, x *float32, n uintptr", "")
		dst, x, n := Parameter("dst"), Parameter("x"), Parameter("n")
		zero := NewVector(m.Bytes)
		Zero(zero)
		Label("loop")
		v := NewVector(m.Bytes)
		Load(v, Memory{Base: x})
		Multiply(v, v, Constant("three", 0x40400000))
		Keep(v, Compare(GreaterThan, v, zero), v)
		Store(Memory{Base: dst}, v)
		Increase(x, Number(m.Bytes))
		Increase(dst, Number(m.Bytes))
		Countdown(n, m.Bytes/4, "loop")
		End()
	}
	return p
}

func emit(t *testing.T, write func(file string) error) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "out.s")
	if err := write(file); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// wantInOrder fails unless the lines appear in this order, possibly with others in between.
func wantInOrder(t *testing.T, text string, lines ...string) {
	t.Helper()
	text = strings.Join(strings.Fields(text), " ")
	for _, line := range lines {
		_, after, ok := strings.Cut(text, line)
		if !ok {
			t.Fatalf("no %q in the rest: %s", line, text)
		}
		text = after
	}
}

func TestAMD64(t *testing.T) {
	text := emit(t, func(file string) error { return relu().AMD64(file, "test", "relu") })
	wantInOrder(t, text, "TEXT ·reluAVX2(SB), NOSPLIT, $0-24", "MOVQ dst+0(FP), AX", "VXORPS Y0, Y0, Y0", "loop:", "VMOVUPS (CX), Y1",
		"VMULPS three<>+0(SB), Y1, Y1", "VCMPPS $0x1e, Y0, Y1, Y2", "VANDPS Y1, Y2, Y1", "VMOVUPS Y1, (AX)", "SUBQ $0x00000008, DX", "JNE loop",
		"VZEROUPPER", "RET", "DATA three<>+60(SB)/4, $0x40400000", "TEXT ·reluAVX512(SB)", "VCMPPS $0x1e, Z0, Z1, K1", "VMOVUPS.Z Z1, K1, Z1",
		"SUBQ $0x00000010, DX")
}

func TestNEON(t *testing.T) {
	text := emit(t, func(file string) error { return relu().NEON(file, "test") })
	wantInOrder(t, text, "TEXT ·reluNEON(SB), NOSPLIT, $0-24", "MOVD dst+0(FP), R0", "eor v0.4S", "eor v1.4S", "loop:", "FLDPQ 0(R1), (F2, F3)",
		"MOVD $three<>(SB), R20", "fmul v2.4S", "fmul v3.4S", "fcmgt v4.4S, v2.4S, v0.4S", "fcmgt v5.4S, v3.4S, v1.4S", "and v2.4S, v4.4S, v2.4S",
		"FSTPQ (F2, F3), 0(R0)", "SUBS $8, R2", "BNE loop", "RET", "DATA three<>+0(SB)/8, $0x4040000040400000")
	if text := emit(t, func(file string) error { return relu().NEON(file, "test", "relu") }); strings.Contains(text, "TEXT") {
		t.Fatal("a function that was to be left out is there")
	}
}

// If a loop over several vectors takes more registers than arm64 has, it is left out.
func TestUnrolled(t *testing.T) {
	record := func(vectors int) *Program {
		p := NewProgram()
		Begin(AVX2, "copy", "dst, x *float32", "")
		dst, x := Parameter("dst"), Parameter("x")
		round := func(n int) {
			v := make([]Vector, n)
			for i := range v {
				v[i] = NewVector(32)
				Load(v[i], Memory{Base: x, Offset: 32 * i})
			}
			for i := range v {
				Store(Memory{Base: dst, Offset: 32 * i}, v[i])
			}
		}
		Unrolled(func() { round(vectors) })
		round(1)
		End()
		return p
	}
	for vectors, want := range map[int]int{14: 15, 15: 1} {
		text := emit(t, func(file string) error { return record(vectors).NEON(file, "test") })
		if got := strings.Count(text, "FLDPQ"); got != want {
			t.Errorf("%d vectors at a time: %d loads, want %d", vectors, got, want)
		}
	}
}
