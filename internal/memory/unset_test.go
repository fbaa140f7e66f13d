package memory

import (
	"bytes"
	"runtime"
	"testing"
)

// TestUnset writes all of the memory and keeps some of it alive while garbage is collected: nothing else may get it.
func TestUnset(t *testing.T) {
	for _, n := range []int{0, 1, unsetFrom - 1, unsetFrom, unsetFrom + 1, 1<<20 + 3, 5 << 20} {
		var kept [][]byte
		for i := range 8 {
			b := Unset(n)
			if len(b) != n {
				t.Fatalf("%d bytes, expected %d", len(b), n)
			}
			for j := range b {
				b[j] = byte(i)
			}
			kept = append(kept, b)
			runtime.GC()
		}
		for i, b := range kept {
			if !bytes.Equal(b, bytes.Repeat([]byte{byte(i)}, n)) {
				t.Fatalf("array %d of %d bytes changed", i, n)
			}
		}
	}
}

func BenchmarkUnset(b *testing.B) {
	for _, c := range []struct {
		name string
		make func(n int) []byte
	}{{"unset", Unset}, {"zeros", func(n int) []byte { return make([]byte, n) }}} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				c.make(5 << 20)
			}
		})
	}
}
