package harvest

import (
	"bytes"
	"context"
	"os"
	"path"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestHarvest runs the packed selection. A case with an exception must fail: what passes needs none.
func TestHarvest(t *testing.T) {
	file, err := os.ReadFile("testdata/cases.tar.gz")
	require.NoError(t, err)
	used, count := map[string]bool{}, 0
	for c, err := range Packed(file) {
		require.NoError(t, err)
		count++
		for _, e := range Exceptions() {
			if e.covers(c.Name, c.Drawing) {
				used[e.Pattern+"@"+e.Drawing] = true
			}
		}
		t.Run(c.Name, func(t *testing.T) {
			_, err := c.Check(context.Background())
			switch reason := c.Excused(); {
			case err != nil && reason == "":
				t.Errorf("%s (from %s of Keras, %s): %v", c.Label, c.Test, c.Backend, err)
			case err == nil && reason != "":
				t.Errorf("passes, so its exception can go: %s", reason)
			}
		})
	}
	require.Greater(t, count, 1000)
	for _, e := range Exceptions() {
		_, err := path.Match(e.Pattern, "")
		require.NoError(t, err, e.Pattern)
		require.NotEmpty(t, e.Reason)
	}
	t.Logf("%d cases; exceptions without a case among them: %d", count, len(Exceptions())-len(used))
}

// A case whose numbers are changed must fail, or nothing here means anything.
func TestChangedCasesFail(t *testing.T) {
	file, err := os.ReadFile("testdata/cases.tar.gz")
	require.NoError(t, err)
	seen := map[string]int{}
	var last *Case
	for c, err := range Packed(file) {
		require.NoError(t, err)
		if last != nil && last.Command == c.Command && last.Label == c.Label && seen[c.Command] < 3 && c.Excused() == "" {
			for _, name := range []string{"out.npz", "evaluate.json", "history.json"} {
				if _, has := c.Files[name]; has {
					c.Files[name] = last.Files[name] // what Keras computed from something else
				}
			}
			if _, err := c.Check(context.Background()); err != nil {
				seen[c.Command]++
			}
		}
		last = c
	}
	require.Equal(t, map[string]int{"predict": 3, "evaluate": 3, "fit": 3}, seen)
}

func TestTolerance(t *testing.T) {
	require.NoError(t, predicted.compare([]float64{1, 0}, []float64{1 + 1e-5, 1e-5}))
	require.ErrorContains(t, predicted.compare([]float64{1, 0}, []float64{1, 3e-5}), "1 of 2 values differ, as 1: 0 instead of 3e-05")
	require.Error(t, predicted.compare([]float64{1}, flatten("NaN")))
	require.NoError(t, predicted.compare(flatten("NaN"), flatten("NaN")))
	require.Error(t, predicted.compare([]float64{1e300}, flatten("Infinity")))
	require.NoError(t, predicted.compare(flatten("-Infinity"), flatten("-Infinity")))
}

// An exception for one drawing leaves the others of the same name as they are.
func TestExceptionOfADrawing(t *testing.T) {
	file, err := os.ReadFile("testdata/cases.tar.gz")
	require.NoError(t, err)
	var first, second *Case
	for c, err := range Packed(file) {
		require.NoError(t, err)
		if first == nil {
			first = c
		} else if second = c; !bytes.Equal(first.Files["in.npz"], c.Files["in.npz"]) {
			break
		}
	}
	require.Len(t, first.Drawing(), 12)
	require.NotEqual(t, first.Drawing(), second.Drawing())
	e := Exception{Pattern: first.Name, Drawing: first.Drawing()}
	require.True(t, e.covers(first.Name, first.Drawing))
	require.False(t, e.covers(first.Name, second.Drawing))
	require.False(t, e.covers(second.Name, first.Drawing))
	require.True(t, Exception{Pattern: first.Name}.covers(first.Name, second.Drawing))
}
