package main

import (
	"go/parser"
	"go/token"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const sample = `package p

import "fmt"

func rule(x, y float64) (float64, error) {
	if x < 0.5 && y != 0 {
		return 0, fmt.Errorf("%v is below %v", x, 0.5)
	}
	return Subtract(x, -y) * 3, nil
}
`

// TestChanges: every change is one place, gives other text that still parses, and the words of errors stay.
func TestChanges(t *testing.T) {
	all, err := changes("p.go", []byte(sample))
	require.NoError(t, err)
	var what []string
	for _, m := range all {
		what = append(what, m.what)
		require.NotEqual(t, sample, string(m.text))
		_, err := parser.ParseFile(token.NewFileSet(), "p.go", m.text, 0)
		require.NoError(t, err, m.what)
	}
	require.ElementsMatch(t, []string{"&& becomes ||", "< becomes <=", "0.5 becomes 0.505", "!= becomes ==", "0 becomes 1", "0 becomes 1", "* becomes /", "Subtract becomes Add",
		"x, -y becomes -y, x", "- becomes ", "3 becomes 4"}, what)
}

// TestChoose: the curated places are all there and come first, every target has its share, and a seed draws the same
// again.
func TestChoose(t *testing.T) {
	a, err := choose("../..", 200, 1)
	require.NoError(t, err)
	require.Len(t, a, 200)
	b, err := choose("../..", 200, 1)
	require.NoError(t, err)
	other, err := choose("../..", 200, 2)
	require.NoError(t, err)
	same := 0
	share := map[string]int{}
	for i := range a {
		require.Equal(t, a[i].String(), b[i].String())
		if a[i].String() == other[i].String() {
			same++
		}
		share[strings.Join(a[i].target.tests, " ")]++
	}
	require.Less(t, same, 100)
	require.Len(t, share, len(targets))
}

// TestCurated: what the curated places change is still there.
func TestCurated(t *testing.T) {
	for _, c := range curated {
		text, err := os.ReadFile("../../" + c[0])
		require.NoError(t, err)
		require.Contains(t, string(text), c[1], c[0])
	}
}

// The changes that are said to change nothing are still there: a list of what was once so would hide what is not.
func TestEquivalentChangesExist(t *testing.T) {
	for key := range equivalent {
		text, err := os.ReadFile("../../" + key[0])
		require.NoError(t, err)
		all, err := changes(key[0], text)
		require.NoError(t, err)
		require.True(t, slices.ContainsFunc(all, func(m mutant) bool { return m.key() == key }), "%q", key)
	}
}
