package parameterserver

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/distribute/internal/protocol"
)

// TestNoRoomForASnapshot: a server that cannot begin a new log when it is started again goes on with the one that it
// has, from where that is torn, as often as it is started; when there is room it begins a new one. What was
// acknowledged is there, and a snapshot that nobody goes on from is not.
func TestNoRoomForASnapshot(t *testing.T) {
	directory := t.TempDir()
	plain := protocol.NewState(protocol.Limits{})
	var s *store
	encoded := func(state *protocol.State) []byte {
		var b bytes.Buffer
		w := protocol.NewWriter(&b)
		state.EncodeSnapshot(w)
		require.NoError(t, w.Flush())
		return b.Bytes()
	}
	restart := func() uint64 {
		t.Helper()
		if s != nil {
			require.NoError(t, s.close())
		}
		opened, state, identity, err := openStore(directory, false, protocol.Limits{})
		require.NoError(t, err)
		require.Equal(t, encoded(plain), encoded(state))
		s = opened
		return identity
	}
	sequence := uint64(0)
	change := func() {
		t.Helper()
		var c protocol.Command = &protocol.Take{Term: 1}
		if sequence++; sequence == 2 {
			c = &protocol.Create{Term: 1, Definition: protocol.Definition{Name: "t", Rows: 2, Width: 2, Rule: protocol.Rule{Kind: protocol.SGD, Momentum: 0.9}}}
		} else if sequence > 2 {
			c = &protocol.Push{Closure: protocol.ClosureID{Term: 1, Sequence: sequence}, Low: 1, Updates: []protocol.Update{{Values: []float32{1, 2, 3, float32(sequence)}}}}
		}
		var w protocol.Writer
		protocol.EncodeCommand(&w, c)
		_, err := plain.Execute(c)
		require.NoError(t, err)
		require.NoError(t, s.append(w.B))
	}
	identity := restart()
	change()
	change()
	block := filepath.Join(directory, "log-2") // in whose place no log can be made
	require.NoError(t, os.Mkdir(block, 0o755))
	for range 3 {
		require.Equal(t, identity, restart())
		change()
		_, err := s.log.Write([]byte{20, 0, 0, 0, 1, 2, 3}) // a torn end
		require.NoError(t, err)
		require.NoFileExists(t, filepath.Join(directory, "snapshot-2"))
	}
	require.Error(t, s.snapshot(plain, identity))
	require.NoFileExists(t, filepath.Join(directory, "snapshot-2"))
	require.NoError(t, os.WriteFile(filepath.Join(directory, "tmp-1"), nil, 0o644)) // of a process that was killed
	require.NoError(t, os.Remove(block))
	require.Equal(t, identity, restart())
	require.EqualValues(t, 2, s.number)
	change()
	require.Equal(t, identity, restart())
	require.NoError(t, s.close())
	names, err := filepath.Glob(filepath.Join(directory, "*"))
	require.NoError(t, err)
	require.Equal(t, []string{filepath.Join(directory, "log-3"), filepath.Join(directory, "snapshot-3")}, names)
}
