package callbacks_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/callbacks"
)

// A history prints as a table of its epochs, whatever they have measured.
func TestHistoryTable(t *testing.T) {
	h := &callbacks.History{}
	require.Equal(t, "no epochs", h.String())
	require.NoError(t, h.OnTrainBegin())
	logs := func(set func(l *callbacks.Logs)) *callbacks.Logs {
		l := callbacks.NewLogs(nil)
		set(l)
		return l
	}
	for epoch := range 3 {
		require.NoError(t, h.OnEpochEnd(epoch+4, logs(func(l *callbacks.Logs) {
			l.Set("loss", math.Pow(10, -float64(2*epoch)))
			l.Set("iou", 0.25, 0.5)
			l.Append("learning_rate", 0.01)
			if epoch == 1 {
				l.Set("val_loss", math.NaN())
			}
		})))
	}
	require.Equal(t, strings.Join([]string{
		" epoch            iou        loss  val_loss  learning_rate",
		"───────────────────────────────────────────────────────────",
		"     5  0.2500 0.5000      1.0000                   0.0100",
		"     6  0.2500 0.5000      0.0100       NaN         0.0100",
		"     7  0.2500 0.5000  1.0000e-04                   0.0100",
	}, "\n"), h.String())
	require.Equal(t, h.String(), fmt.Sprint(h))

	require.NoError(t, h.OnTrainBegin())
	require.Equal(t, "no epochs", h.String())
	made := &callbacks.History{Epoch: []int{0, 1}, Logs: map[string][]float64{"loss": {1, 0}}}
	require.Contains(t, made.String(), "0.0000")
	require.Equal(t, "no epochs", (*callbacks.History)(nil).String())
}
