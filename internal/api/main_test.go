package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// What programs can name is listed, and nothing else.
func TestListing(t *testing.T) {
	folder := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(folder, "a.go"), []byte("package a\n"+`
type T struct {
	A, B int `+"`keras:\"a\"`"+`
	c    int
	hidden
	Shown
}
type hidden struct {
	X, A int
	deeper
	twin
}
type deeper struct{ Open }
type Open struct{}
func (deeper) Deep() {}
func (deeper) Exported() {}
func (deeper) Twice() {}
type twin struct{ *hidden }
func (*twin) Twice() {}
type Shown = T
type I interface { M(x int) error; n() }
type G[K comparable] map[K]int
const C, d = 1, 2
var V []int
func F(x int) (y string, err error) { return "", nil }
func (t *T) M() {}
func (h hidden) Exported() {}
func (g G[K]) Len() int { return 0 }
`), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "a_test.go"), []byte("package a\nfunc Test() {}\n"), 0o600))
	got, err := list(folder)
	require.NoError(t, err)
	require.Equal(t, []string{
		".: const C = 1",
		".: func F(x int) (y string, err error)",
		".: method (*T) Deep()",
		".: method (*T) Exported()",
		".: method (*T) M()",
		".: method (G[K]) Len() int",
		".: type G[K comparable] map[K]int",
		".: type I interface",
		".: type I interface, M(x int) error",
		".: type I interface, methods that are not exported",
		".: type Open struct",
		".: type Shown = T",
		".: type T struct",
		".: type T struct, A int `keras:\"a\"`",
		".: type T struct, B int `keras:\"a\"`",
		".: type T struct, embedded Shown",
		".: type T struct, promoted Open",
		".: type T struct, promoted X int",
		".: var V []int",
	}, got)
}
