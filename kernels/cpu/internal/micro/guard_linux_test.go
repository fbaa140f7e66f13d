package micro

import (
	"math/rand/v2"
	"syscall"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
)

// guarded copies x to the end of memory behind which nothing is readable or, with atStart, to the start of memory in
// front of which nothing is: an access outside kills the test.
func guarded[T Float](t *testing.T, x []T, atStart bool) []T {
	t.Helper()
	page := syscall.Getpagesize()
	size := int(unsafe.Sizeof(x[0])) * len(x)
	body := (size + page - 1) / page * page
	m, err := syscall.Mmap(-1, 0, body+2*page, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, syscall.Munmap(m)) })
	require.NoError(t, syscall.Mprotect(m[:page], syscall.PROT_NONE))
	require.NoError(t, syscall.Mprotect(m[page+body:], syscall.PROT_NONE))
	from := page
	if !atStart {
		from = page + body - size
	}
	g := unsafe.Slice((*T)(unsafe.Pointer(&m[from])), len(x))
	copy(g, x)
	return g
}

// TestNothingOutsideIsTouched puts all operands against unreadable memory.
func TestNothingOutsideIsTouched(t *testing.T) {
	forLevels(t, func(t *testing.T) {
		testGuarded[float32](t)
		testGuarded[float64](t)
	})
}

func testGuarded[T Float](t *testing.T) {
	rng := rand.New(rand.NewPCG(17, 18))
	for cols := 1; cols <= PanelWidth[T](); cols++ {
		rows := 1 + rng.IntN(16)
		const k = 11
		for _, atStart := range []bool{false, true} {
			tile := Tile[T]{Rows: rows, Cols: cols, K: k, Segments: 1, Outer: 1, ARow: k, AK: 1, BK: cols, CRow: cols, Accumulate: true}
			tile.A, tile.B = guarded(t, random[T](rng, rows*k, 0), atStart), guarded(t, random[T](rng, k*cols, 0), atStart)
			tile.C, tile.Bias = guarded(t, random[T](rng, rows*cols, 0), atStart), guarded(t, random[T](rng, cols, 0), atStart)
			Run(&tile)
			tile.AK, tile.ARow = cols, cols
			tile.A = guarded(t, random[T](rng, (rows+k-1)*cols, 0), atStart)
			RunChannels(&tile)
			AddRowProduct(tile.C[:cols], guarded(t, random[T](rng, k, 0), atStart), tile.B, cols)
			panel := guarded(t, make([]T, k*PanelWidth[T]()), atStart)
			PackPanel(panel, tile.B, k, cols, cols, 1)
			PackPanel(panel, tile.B, k, cols, 1, k)
		}
	}
}
