package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The file of the API is up to date. What changes it is meant to be seen: run "go run ./internal/api > docs/api.txt" and look at the difference.
func TestFileOfTheAPI(t *testing.T) {
	want, err := list("../..")
	require.NoError(t, err)
	text, err := os.ReadFile("../../docs/api.txt")
	require.NoError(t, err)
	have := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	for _, line := range want {
		if _, ok := slices.BinarySearch(have, line); !ok {
			t.Errorf("not in docs/api.txt: %s", line)
		}
	}
	for _, line := range have {
		if _, ok := slices.BinarySearch(want, line); !ok {
			t.Errorf("in docs/api.txt, and no more: %s", line)
		}
	}
	if t.Failed() {
		t.Log("if that is meant: go run ./internal/api > docs/api.txt, and an entry in CHANGELOG.md")
	}
}

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
type hidden struct{ X int }
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
		".: method (*T) M()",
		".: method (G[K]) Len() int",
		".: type G[K comparable] map[K]int",
		".: type I interface",
		".: type I interface, M(x int) error",
		".: type I interface, methods that are not exported",
		".: type Shown = T",
		".: type T struct",
		".: type T struct, A int `keras:\"a\"`",
		".: type T struct, B int `keras:\"a\"`",
		".: type T struct, embedded Shown",
		".: var V []int",
	}, got)
}
