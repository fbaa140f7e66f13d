package parameterserver

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/distribute/internal/protocol"
	"github.com/gokeras/gokeras/internal/smalldisk"
)

// TestFullDisk: on a disk that fills up at any place, in the midst of a record, of a snapshot or of the start, a server
// that is started again has what was acknowledged and nothing else, with room or without, and leaves no files behind.
func TestFullDisk(t *testing.T) {
	disk := smalldisk.Mount(t, 128<<10)
	rng := rand.New(rand.NewPCG(8, 8))
	directory, filler := filepath.Join(disk, "ps-0"), filepath.Join(disk, "filler")
	plain := protocol.NewState(protocol.Limits{})
	encoded := func(state *protocol.State) []byte {
		var b bytes.Buffer
		w := protocol.NewWriter(&b)
		state.EncodeSnapshot(w)
		require.NoError(t, w.Flush())
		return b.Bytes()
	}
	var s *store
	identity := uint64(0)
	restart := func() {
		t.Helper()
		require.NoError(t, s.close())
		opened, state, known, err := openStore(directory, rng.IntN(2) == 0, protocol.Limits{})
		require.NoError(t, err)
		require.True(t, bytes.Equal(encoded(plain), encoded(state)))
		require.True(t, identity == 0 || identity == known, "the state goes on")
		s, identity = opened, known
	}
	change := func(c protocol.Command) error {
		var w protocol.Writer
		protocol.EncodeCommand(&w, c)
		if err := s.append(w.B); err != nil {
			return err
		}
		_, err := plain.Execute(c)
		return err
	}
	fill := func(n int) { // as much as there is room for
		if err := os.WriteFile(filler, make([]byte, n), 0o600); err != nil {
			require.ErrorIs(t, err, syscall.ENOSPC)
		}
	}
	fill(128 << 10)
	_, _, _, err := openStore(directory, false, protocol.Limits{})
	require.ErrorIs(t, err, syscall.ENOSPC)
	require.ErrorContains(t, err, directory)
	require.NoError(t, os.Remove(filler))
	restart()
	require.NoError(t, change(&protocol.Take{Term: 1}))
	require.NoError(t, change(&protocol.Create{Term: 1, Definition: protocol.Definition{Name: "t", Rows: 8, Width: 64, Rule: protocol.Rule{Kind: protocol.SGD, Momentum: 0.9}}}))
	failed := map[string]int{}
	for sequence := uint64(3); sequence < 1000; sequence++ {
		switch rng.IntN(12) {
		case 0:
			fill(rng.IntN(128 << 10))
		case 1:
			require.NoError(t, errors.Join(os.RemoveAll(filler)))
		case 2, 3:
			if err := s.snapshot(plain, identity); err != nil {
				require.ErrorIs(t, err, syscall.ENOSPC)
				failed["snapshot"]++
			}
		case 4:
			restart()
		default:
			values := make([]float32, 8*64)
			values[rng.IntN(len(values))] = rng.Float32()
			err := change(&protocol.Push{Closure: protocol.ClosureID{Term: 1, Sequence: sequence}, Low: sequence, Updates: []protocol.Update{{Values: values}}})
			if err == nil {
				continue
			}
			require.ErrorIs(t, err, syscall.ENOSPC)
			failed["log"]++
			if rng.IntN(2) == 0 { // the process is killed, and had written a part
				_, _ = s.log.Write(make([]byte, rng.IntN(40)))
			}
			if rng.IntN(2) == 0 {
				require.NoError(t, os.RemoveAll(filler))
			}
			restart()
		}
	}
	require.Greater(t, failed["log"], 15)
	require.Greater(t, failed["snapshot"], 5)
	restart()
	require.NoError(t, s.close())
	names, err := filepath.Glob(filepath.Join(directory, "*"))
	require.NoError(t, err)
	require.Len(t, names, 2, "a snapshot and a log: %q", names)
}
