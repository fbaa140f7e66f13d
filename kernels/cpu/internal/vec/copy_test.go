package vec_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/gokeras/gokeras/kernels/cpu/internal/vec"
)

// Copies of lengths around the size of pieces copy all that fits into both slices, and nothing else.
func TestCopy(t *testing.T) {
	src, dst := make([]byte, 9<<20), make([]byte, 9<<20)
	r := rand.NewChaCha8([32]byte{28})
	r.Read(src)
	for _, n := range []int{0, 1, 63, 1<<20 - 1, 1 << 20, 1<<20 + 1, 1<<20 + 1<<18 + 7, 8 << 20, 8<<20 + 1} {
		for _, longer := range []int{0, 3} {
			clear(dst)
			if got := vec.Copy(dst[5:5+n+longer], src[:n]); got != n {
				t.Errorf("%d bytes: copied %d", n, got)
			}
			if !bytes.Equal(dst[5:5+n], src[:n]) || bytes.ContainsFunc(dst[5+n:], func(c rune) bool { return c != 0 }) {
				t.Errorf("%d bytes into %d: others are there", n, n+longer)
			}
			if got := vec.Copy(dst[:n], src[:n+longer]); got != n {
				t.Errorf("%d of %d bytes: copied %d", n, n+longer, got)
			}
		}
	}
}

// Copies within a slice read what was there before, in both directions.
func TestCopyWithin(t *testing.T) {
	r := rand.NewChaCha8([32]byte{29})
	for _, by := range []int{1, 1 << 17, 1 << 18} {
		for _, back := range []bool{false, true} {
			memory := make([]byte, 3<<20)
			r.Read(memory)
			want := bytes.Clone(memory)
			to, from := by, 0
			if back {
				to, from = 0, by
			}
			copy(want[to:], want[from:len(want)-to])
			vec.Copy(memory[to:], memory[from:len(memory)-to])
			if !bytes.Equal(memory, want) {
				t.Errorf("%d bytes, back %v: others are there", by, back)
			}
		}
	}
}

func BenchmarkCopy(b *testing.B) {
	for _, n := range []int{1 << 19, 1 << 20, 1 << 21, 1 << 22, 1 << 23, 1 << 24} {
		src, dst := make([]byte, n), make([]byte, n)
		b.Run(fmt.Sprint(n>>10, "KiB"), func(b *testing.B) {
			b.SetBytes(int64(n))
			for b.Loop() {
				vec.Copy(dst, src)
			}
		})
	}
}
