package plot_test

import (
	"image/png"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/keras/plot"
)

func TestHistory(t *testing.T) {
	dir := t.TempDir()
	h := &keras.History{Epoch: []int{4, 5, 6}, Logs: map[string][]float64{
		"loss": {3, math.NaN(), 1}, "val_loss": {3.5, 2.5, 2}, "accuracy": {0.1, 0.2, 0.5}, "val_only": {1, 2, 3},
	}}
	path := filepath.Join(dir, "h.svg")
	require.NoError(t, plot.History(h, path))
	text := strings.Join(readSVG(t, path), "\n")
	require.Equal(t, 1, strings.Count(text, "validation"), "val_only is a metric that is just called so")
	for _, want := range []string{"loss", "accuracy", "val only", "training", "epoch", "5", "6", "7"} {
		require.Contains(t, text, want)
	}
	require.Less(t, strings.Index(text, "loss"), strings.Index(text, "accuracy"), "the loss comes first")

	path = filepath.Join(dir, "h.png")
	require.NoError(t, plot.History(h, path))
	f, err := os.Open(path)
	require.NoError(t, err)
	defer f.Close()
	_, err = png.Decode(f)
	require.NoError(t, err)

	require.ErrorContains(t, plot.History(nil, path), "nil")
	require.ErrorContains(t, plot.History(h, "h.pdf"), ".svg or .png")
	require.ErrorContains(t, plot.History(&keras.History{Logs: map[string][]float64{"loss": {math.Inf(1)}}}, path), "no values")
}

func TestHistoryFile(t *testing.T) {
	dir := t.TempDir()
	from, path := filepath.Join(dir, "h.json"), filepath.Join(dir, "h.svg")
	write := func(text string) { require.NoError(t, os.WriteFile(from, []byte(text), 0o666)) }
	write(`{"loss": [0.5, NaN, 0.25], "say \"NaN\"": [1, Infinity, -Infinity], "matrix": [[1, 2], [3, 4]]}`)
	require.NoError(t, plot.HistoryFile(from, path))
	require.Contains(t, strings.Join(readSVG(t, path), "\n"), `say "NaN"`)
	for _, bad := range []string{``, `[1]`, `{"loss": 1}`, `{"loss": ["a"]}`, `{"loss": [1`, `{"loss": []}`} {
		write(bad)
		require.Error(t, plot.HistoryFile(from, path), bad)
	}
	require.ErrorIs(t, plot.HistoryFile(filepath.Join(dir, "none"), path), os.ErrNotExist)
}

func TestParseHistory(t *testing.T) {
	got, err := plot.ParseHistory([]byte(`{"a": [1, null, -Infinity, [2, 3], []]}`))
	require.NoError(t, err)
	require.Len(t, got["a"], 5)
	require.Equal(t, 1.0, got["a"][0])
	require.True(t, math.IsNaN(got["a"][1]))
	require.True(t, math.IsInf(got["a"][2], -1))
	require.Equal(t, 2.0, got["a"][3])
	require.True(t, math.IsNaN(got["a"][4]))
}

func FuzzParseHistory(f *testing.F) {
	for _, seed := range []string{`{"loss": [1, 2.5e-3, NaN], "val_loss": [null, -Infinity]}`, `{"a\"NaN": [[1], []]}`, `{`, `{"a": [[[[1]]]]}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		values, err := plot.ParseHistory(raw)
		if err != nil {
			return
		}
		total := 0
		for _, v := range values {
			total += len(v)
		}
		require.LessOrEqual(t, total, len(raw))
	})
}
