package keras

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/callbacks"
	"github.com/gokeras/gokeras/distribute/parameters"
)

// notes is a job that keeps notes.
type notes struct {
	parameters.Job
	all     map[string][]byte
	largest int
	written int
}

func (n *notes) Note(_ context.Context, key string) ([]byte, error) { return n.all[key], nil }

func (n *notes) SetNote(_ context.Context, key string, value []byte) error {
	n.all[key] = value
	n.largest, n.written = max(n.largest, len(value)), n.written+len(value)
	return nil
}

// TestLongHistory: the history of many epochs is stored in many notes, each far below the size limit, and an epoch
// writes no more at the end than at the beginning. A later coordinator that reads it continues where it ends.
func TestLongHistory(t *testing.T) {
	const epochs, parts = 20_000, 4
	kept := &notes{all: map[string][]byte{}}
	fit := func() *serverFit { return &serverFit{job: kept} }
	set := func(key string, value []byte) error { return kept.SetNote(t.Context(), key, value) }
	f := fit()
	for epoch := range epochs {
		if epoch%(epochs/parts) == 1 { // another coordinator
			f = fit()
			require.NoError(t, f.readHistory(t.Context()))
			require.Len(t, f.record.rows, epoch)
		}
		f.record.note = func() error { return f.noteHistory(set) }
		logs := callbacks.NewLogs(nil)
		logs.Set("loss", float64(epoch))
		logs.Set("a rather long name of a metric", float64(epoch)/2)
		require.NoError(t, f.record.OnEpochEnd(epoch, logs))
	}
	require.NoError(t, f.tell(t.Context(), nil))
	require.Less(t, kept.largest, 2*fullNote)
	require.Less(t, kept.written/epochs, fullNote)
	h, over, err := fit().ended(t.Context())
	require.NoError(t, err)
	require.True(t, over)
	require.Len(t, h.Epoch, epochs)
	for epoch, loss := range h.Logs["loss"] {
		require.EqualValues(t, epoch, loss)
	}

	all := &notes{all: map[string][]byte{}} // the same at once
	f.job, f.record.from, f.record.notes = all, 0, 0
	require.NoError(t, f.tell(t.Context(), nil))
	require.Less(t, all.largest, 2*fullNote+1)
	h, _, err = f.ended(t.Context())
	require.NoError(t, err)
	require.Len(t, h.Epoch, epochs)
}
