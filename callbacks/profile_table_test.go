package callbacks

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/cpu"
)

func TestProfileTable(t *testing.T) {
	step := []cpu.OpProfile{
		{Name: "dot", Scope: "dense", Calls: 10, Time: 30 * time.Millisecond, Bytes: 2e6, FLOPs: 3e6},
		{Name: "dot", Scope: "dense", Calls: 10, Time: 10 * time.Millisecond, Bytes: 1e6, FLOPs: 1e6},
		{Name: "never", Scope: "dense"},
	}
	metrics := cpu.ProgramProfile{Program: "metrics", Ops: []cpu.OpProfile{{Name: "add", Calls: 5, Time: 60 * time.Millisecond, Bytes: 1e3}}}

	one := NewProfileTable([]cpu.ProgramProfile{{Program: "train_step", Ops: step}, metrics}, 10, 1e9)
	assert.Equal(t, ProfileTable{
		{Name: "add", Calls: 0.5, Microseconds: 6000, Percent: 60, Megabytes: 0.0005},
		{Name: "dot", Layer: "dense", Calls: 1, Microseconds: 3000, Percent: 30, Megabytes: 2, GFLOPs: 1, PercentOfPeak: 100},
		{Name: "dot", Layer: "dense", Calls: 1, Microseconds: 1000, Percent: 10, Megabytes: 1, GFLOPs: 1, PercentOfPeak: 100},
	}, one)

	two := NewProfileTable([]cpu.ProgramProfile{{Program: "train_step", Ops: step}, {Program: "train_step", Ops: step}}, 10, 1e9)
	assert.Equal(t, ProfileTable{{Name: "dot", Layer: "dense", Calls: 4, Microseconds: 8000, Percent: 100, Megabytes: 6, GFLOPs: 1, PercentOfPeak: 100}}, two)

	var b strings.Builder
	require.NoError(t, one.Write(&b))
	assert.Contains(t, b.String(), "%peak")
	long := ProfileTable{{Name: "sparse_categorical_crossentropy_with_a_long_name", Layer: "model/block/group_normalization_2", Calls: 3, Microseconds: 1234567, Percent: 100, Megabytes: 12345, GFLOPs: 12345, PercentOfPeak: 100}}
	require.NoError(t, long.Write(&b))
	for line := range strings.Lines(b.String()) {
		assert.LessOrEqual(t, utf8.RuneCountInString(strings.TrimRight(line, "\n")), 80, line)
	}
	assert.Contains(t, b.String(), "…oup_normalization_2", "the end of the path tells layers apart")
	assert.Contains(t, b.String(), "3000.0")
	assert.Empty(t, NewProfileTable(nil, 1, 1e9))
}

// TestShortened: long chains do not widen the table.
func TestShortened(t *testing.T) {
	for chain, want := range map[string]string{
		"dot": "dot", "dot+add+relu": "dot+add+relu", "sum+sum": "sum×2",
		"optimizer_update+optimizer_update+optimizer_update":    "optimizer_update×3",
		"add+neg+max+abs+neg+exp+log1p+add+mul+sub+max+abs+neg": "add+neg+max+abs+neg+8 more",
		"sparse_categorical_crossentropy_with_a_very_long_name": "sparse_categorical_crossentropy_with_a_very_long_name",
	} {
		assert.Equal(t, want, shortened(chain))
	}
}
