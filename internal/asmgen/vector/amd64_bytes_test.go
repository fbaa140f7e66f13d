package vector

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestHalfPairs compares the encoding with that of GNU's assembler, if it is installed.
func TestHalfPairs(t *testing.T) {
	names := []string{"rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15"}
	var source strings.Builder
	var want []byte
	for _, sum := range []int{0, 7, 8, 15, 16, 31} {
		for _, a := range []int{0, 9, 17, 31} {
			for base := range names {
				for _, disp := range []int{0, 4, -508, 508, 512, 3, 100000} {
					for _, index := range []int{-1, 0, 5, 9, 12, 13} {
						scale := 1 << (base % 4)
						place := names[base]
						place = "%" + place
						if index >= 0 {
							place += fmt.Sprintf(",%%%s,%d", names[index], scale)
						}
						fmt.Fprintf(&source, "vdpbf16ps %d(%s){1to16}, %%zmm%d, %%zmm%d\n", disp, place, a, sum)
						want = append(want, halfPairsOf(sum, a, base, index, scale, disp)...)
					}
				}
			}
		}
	}
	compareWithAssembler(t, source.String(), want)
}

// TestRounding compares the encoding of conversions to bfloat16.
func TestRounding(t *testing.T) {
	var source strings.Builder
	var want []byte
	for to := range 32 {
		for from := range 32 {
			fmt.Fprintf(&source, "vcvtneps2bf16 %%zmm%d, %%ymm%d\n", from, to)
			want = append(want, roundingOf(to, from)...)
		}
	}
	compareWithAssembler(t, source.String(), want)
}

// TestRoundingPair compares the encoding of conversions of two vectors.
func TestRoundingPair(t *testing.T) {
	var source strings.Builder
	var want []byte
	for i := range 32 * 32 * 32 {
		to, high, low := i>>10, i>>5&31, i&31
		fmt.Fprintf(&source, "vcvtne2ps2bf16 %%zmm%d, %%zmm%d, %%zmm%d\n", low, high, to)
		want = append(want, roundingPairOf(to, high, low)...)
	}
	compareWithAssembler(t, source.String(), want)
}

// compareWithAssembler compares code with the output of GNU's assembler for the source, if it is installed.
func compareWithAssembler(t *testing.T, source string, want []byte) {
	t.Helper()
	as, err := exec.LookPath("as")
	if err != nil {
		t.Skip("there is no GNU assembler (as, of binutils) to compare with")
	}
	dir := t.TempDir()
	in, object, binary := filepath.Join(dir, "in.s"), filepath.Join(dir, "out.o"), filepath.Join(dir, "out.bin")
	if err := os.WriteFile(in, []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(as, "--64", "-o", object, in).CombinedOutput(); err != nil {
		t.Skipf("an assembler without AVX512-BF16: %v: %s", err, out)
	}
	if out, err := exec.Command("objcopy", "-O", "binary", "-j", ".text", object, binary).CombinedOutput(); err != nil {
		t.Skipf("objcopy, of binutils, is needed to read the code: %v: %s", err, out)
	}
	got, err := os.ReadFile(binary)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != string(want) {
		t.Fatalf("%d bytes differ from those of the assembler, %d", len(want), len(got))
	}
}
