package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestCases checks that keys are unique and that a spec of every kind can be computed, without results that are not
// numbers.
func TestCases(t *testing.T) {
	keys, kinds := map[string]bool{}, map[string]bool{}
	for _, s := range cases() {
		require.False(t, keys[s.Key], s.Key)
		keys[s.Key] = true
		if kinds[s.Kind] || s.Rows > 10000 {
			continue
		}
		kinds[s.Kind] = true
		s.Input[0] = 2
		for _, train := range []bool{false, true} {
			w, err := s.build(train)
			require.NoError(t, err, s.Key)
			require.NoError(t, w.run(), s.Key)
			assert.True(t, w.flops > 0 || w.bytes > 0, s.Key)
			w.close()
		}
	}
	require.Len(t, kinds, 20)
}

func TestTable(t *testing.T) {
	var out bytes.Buffer
	b := &bench{out: &out, secs: 0.001, rounds: 1, cases: cases()}
	require.NoError(t, b.run([]string{"mlp-257"}))
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	require.Len(t, lines, 3)
	require.Equal(t, strings.Count(lines[0], "|"), strings.Count(lines[2], "|"))
	require.Contains(t, lines[2], "| mlp-257 | ")
}

// TestDrawn checks that the same seed draws the same shapes, and that every kind can be computed.
func TestDrawn(t *testing.T) {
	list := drawn(3, 7)
	require.Equal(t, list, drawn(3, 7))
	require.NotEqual(t, list, drawn(3, 8))
	require.Equal(t, 3*(len(draws)+len(everyShape)+len(optionKinds)), len(list))
	for _, s := range list {
		require.LessOrEqual(t, s.cost(), 2e10)
		s.Input[0] = 2
		s.Rows = min(s.Rows, 1000)
		for _, train := range []bool{false, true} {
			w, err := s.build(train)
			require.NoError(t, err, s.Key)
			w.close()
		}
	}
	var out bytes.Buffer
	summary(&out, []measured{{"conv", "train", 2}, {"conv", "train", 0.5}, {"conv", "train", 3}, {"conv", "predict", 0}})
	require.Contains(t, out.String(), "| conv, train | 3 | 0.50 | 0.50 | 2.00 | 3.00 |")
}
