package guard

import (
	"syscall"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
)

// Copy returns a copy of x between two inaccessible pages. It ends where the second page begins or, if atStart is set,
// begins where the first page ends. T must not contain pointers. The memory lives as long as the test.
func Copy[T any](t testing.TB, x []T, atStart bool) []T {
	t.Helper()
	var zero T
	page, size := syscall.Getpagesize(), int(unsafe.Sizeof(zero))*len(x)
	body := max((size+page-1)/page, 1) * page
	m, err := syscall.Mmap(-1, 0, body+2*page, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, syscall.Munmap(m)) })
	require.NoError(t, syscall.Mprotect(m[:page], syscall.PROT_NONE))
	require.NoError(t, syscall.Mprotect(m[page+body:], syscall.PROT_NONE))
	from := page
	if !atStart {
		from = page + body - size
	}
	g := m[from : from+size : from+size]
	copied := unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(g))), len(x))
	copy(copied, x)
	return copied
}
