package keras

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/callbacks"
	"github.com/gokeras/gokeras/distribute"
)

// replicasOf returns a strategy of n replicas on the CPU.
func replicasOf(t testing.TB, n int, shard bool) distribute.Strategy {
	t.Helper()
	o := distribute.MirroredOptions{ShardOptimizerState: shard}
	for i := range n {
		o.Devices = append(o.Devices, fmt.Sprintf("cpu:%d", i))
	}
	s, err := distribute.NewMirroredStrategyWith(o)
	require.NoError(t, err)
	return s
}

func fitted(t testing.TB, make func(distribute.Strategy) (*Model, error), s distribute.Strategy, epochs int, options ...FitOption) *Model {
	t.Helper()
	m, err := make(s)
	require.NoError(t, err)
	_, err = m.Fit(context.Background(), recoveryData(14), append(options, BatchSize(6), Epochs(epochs), ValidationData(recoveryData(5)))...)
	require.NoError(t, err)
	return m
}

// mustVariables returns the values of weights and optimizer variables.
func mustVariables(t testing.TB, m *Model) map[string][]float64 {
	t.Helper()
	all, err := variablesOf(m)
	require.NoError(t, err)
	return all
}

// sharedOut returns the number of optimizer variables that are divided into pieces, the bytes of the whole state on one
// replica, and what it would take undivided.
func sharedOut(t testing.TB, m *Model) (cut int, bytes, whole int) {
	t.Helper()
	for _, v := range m.compiled.optimizer.Variables() {
		b, err := v.Buffer(0)
		require.NoError(t, err)
		bytes, whole = bytes+b.Type().Bytes(), whole+v.Type().Bytes()
		if v.Sharded() {
			cut++
		}
	}
	return cut, bytes, whole
}

// TestShardedStateTrainsAlike: Fit gives the same bits with the optimizer's state in pieces, even if batches are uneven
// and some parts empty.
func TestShardedStateTrainsAlike(t *testing.T) {
	for name, make := range map[string]func(distribute.Strategy) (*Model, error){"one optimizer": recoveryModel, "two optimizers": ownStepsModel} {
		for _, n := range []int{1, 2, 3, 5} {
			t.Run(fmt.Sprint(name, n), func(t *testing.T) {
				want := fitted(t, make, replicasOf(t, n, false), 3)
				m := fitted(t, make, replicasOf(t, n, true), 3)
				require.Equal(t, mustVariables(t, want), mustVariables(t, m))
				require.Equal(t, want.History().Logs, m.History().Logs)
				cut, bytes, whole := sharedOut(t, m)
				if n > 1 {
					require.Greater(t, cut, 4)
					require.Less(t, float64(bytes), float64(whole)/float64(n)+400, "a replica has %d of %d bytes", bytes, whole)
				} else {
					require.Zero(t, cut)
				}
			})
		}
	}
}

// TestShardedStateInFiles: files hold the undivided state, and fit any number of replicas.
func TestShardedStateInFiles(t *testing.T) {
	dir := t.TempDir()
	m := fitted(t, recoveryModel, replicasOf(t, 4, true), 2)
	want := mustVariables(t, m)
	file, backup := filepath.Join(dir, "m.keras"), filepath.Join(dir, "backup.npz")
	require.NoError(t, m.Save(file))
	require.NoError(t, m.SaveBackup(backup, callbacks.Progress{Epoch: 2}))
	for _, n := range []int{1, 2, 3} {
		var ends []map[string][]float64
		for _, shard := range []bool{false, true} {
			loaded, err := LoadModel(file, distribute.Scope(replicasOf(t, n, shard)))
			require.NoError(t, err)
			require.Equal(t, want, mustVariables(t, loaded), "%d replicas", n)
			restored, err := recoveryModel(replicasOf(t, n, shard))
			require.NoError(t, err)
			_, err = restored.LoadBackup(backup)
			require.NoError(t, err)
			require.Equal(t, want, mustVariables(t, restored), "%d replicas", n)
			// in the middle of training too
			_, err = restored.Fit(context.Background(), recoveryData(14), BatchSize(6), Epochs(1))
			require.NoError(t, err)
			_, err = restored.LoadBackup(backup)
			require.NoError(t, err)
			require.Equal(t, want, mustVariables(t, restored), "%d replicas", n)
			_, err = restored.Fit(context.Background(), recoveryData(14), BatchSize(6), Epochs(1))
			require.NoError(t, err)
			ends = append(ends, mustVariables(t, restored))
		}
		require.Equal(t, ends[0], ends[1], "%d replicas go on alike", n)
	}
}

// onWorkers trains on n workers connected by a hub.
func onWorkers(t *testing.T, n int, options distribute.MirroredOptions, life func(rank int, m *Model) error) []error {
	t.Helper()
	h := newHub(n)
	errs := make([]error, n)
	var wait sync.WaitGroup
	for rank := range n {
		wait.Go(func() {
			s, err := distribute.NewMultiWorkerMirroredStrategyOver(distribute.MultiWorkerOptions{MirroredOptions: options, Group: &hubWorker{h, rank}})
			if err == nil {
				var m *Model
				if m, err = recoveryModel(s); err == nil {
					err = life(rank, m)
				}
			}
			errs[rank] = err
			if err != nil {
				distribute.FailTogether(s, err)
			}
		})
	}
	wait.Wait()
	return errs
}

// TestShardedStateOverWorkers: pieces on the replicas of several processes. All save; the chief writes the files;
// another number of workers continues.
func TestShardedStateOverWorkers(t *testing.T) {
	dir := t.TempDir()
	train := func(n int, shard bool, folder string, epochs int) []map[string][]float64 {
		ends := make([]map[string][]float64, n)
		errs := onWorkers(t, n, distribute.MirroredOptions{Devices: []string{"cpu:0", "cpu:1"}, ShardOptimizerState: shard}, func(rank int, m *Model) error {
			own := filepath.Join(dir, folder)
			if rank > 0 {
				own = filepath.Join(dir, folder, fmt.Sprint("no files of worker ", rank)) // as on a separate machine
			}
			_, err := m.Fit(context.Background(), recoveryData(14), BatchSize(6), Epochs(epochs), Callbacks(
				&callbacks.BackupAndRestore{BackupDir: own, KeepCheckpoint: true},
				&callbacks.ModelCheckpoint{FilePath: filepath.Join(own, "m.keras")}))
			if err != nil {
				return err
			}
			if err := m.Save(filepath.Join(own, "end.keras")); err != nil {
				return err
			}
			for _, file := range []string{"end.weights.h5", "end.weights.json", "end.safetensors"} {
				if err := m.SaveWeights(filepath.Join(own, file)); err != nil {
					return err
				}
			}
			if shard {
				if cut, _, _ := sharedOut(t, m); cut == 0 {
					return fmt.Errorf("worker %d holds everything", rank)
				}
			}
			ends[rank], err = variablesOf(m)
			return err
		})
		for rank, err := range errs {
			require.NoError(t, err, "worker %d", rank)
		}
		return ends
	}
	whole, pieces := train(3, false, "whole", 2), train(3, true, "pieces", 2)
	for rank := range whole {
		require.Equal(t, whole[0], pieces[rank])
	}
	load := func(folder, file string) map[string][]float64 {
		_, err := os.Stat(filepath.Join(dir, folder, "no files of worker 1", file))
		require.ErrorIs(t, err, os.ErrNotExist)
		m, err := LoadModel(filepath.Join(dir, folder, file), distribute.Scope(distribute.Default()))
		require.NoError(t, err)
		return mustVariables(t, m)
	}
	require.Equal(t, whole[0], load("pieces", "end.keras"))
	require.Equal(t, load("whole", "m.keras"), load("pieces", "m.keras"))
	for _, file := range []string{"end.weights.h5", "end.weights.json"} { // which contain the optimizer's state
		m, err := LoadModel(filepath.Join(dir, "pieces", "m.keras"), distribute.Scope(distribute.Default()))
		require.NoError(t, err)
		require.NoError(t, m.LoadWeights(filepath.Join(dir, "pieces", file)))
		require.Equal(t, whole[0], mustVariables(t, m))
		require.NoFileExists(t, filepath.Join(dir, "pieces", "no files of worker 1", file))
	}
	// Two workers, of which only the chief has the backup, continue where three stopped.
	later, laterPieces := train(2, false, "whole", 4), train(2, true, "pieces", 4)
	for rank := range later {
		require.Equal(t, later[0], laterPieces[rank])
	}
}

// TestShardedStateAndLostWorkers: a lost worker's piece is lost, so the job cannot continue without it; all workers
// end, and are restarted from the backup.
func TestShardedStateAndLostWorkers(t *testing.T) {
	_, err := distribute.NewMultiWorkerMirroredStrategyOver(distribute.MultiWorkerOptions{
		MirroredOptions: distribute.MirroredOptions{ShardOptimizerState: true}, Group: &hubWorker{newHub(1), 0}, Elastic: &distribute.Elastic{}})
	require.ErrorContains(t, err, "ShardOptimizerState and Elastic cannot go together")

	dir := t.TempDir()
	dead := fmt.Errorf("the machine caught fire")
	errs := onWorkers(t, 2, distribute.MirroredOptions{Devices: []string{"cpu:0"}, ShardOptimizerState: true}, func(rank int, m *Model) error {
		_, err := m.Fit(context.Background(), recoveryData(14), BatchSize(6), Epochs(3), Callbacks(
			&callbacks.BackupAndRestore{BackupDir: filepath.Join(dir, fmt.Sprint(rank)), KeepCheckpoint: true},
			&callbacks.LambdaCallback{EpochBegin: func(epoch int) error {
				if epoch == 1 && rank == 1 {
					return dead
				}
				return nil
			}}))
		return err
	})
	require.ErrorIs(t, errs[1], dead)
	require.ErrorContains(t, errs[0], "caught fire")
}

// TestShardedStateAndFullDisks: if the chief cannot write, all workers, which wait to send their pieces, get the error.
func TestShardedStateAndFullDisks(t *testing.T) {
	file := filepath.Join(t.TempDir(), "no such folder", "m.weights.h5")
	told := make(chan struct{})
	errs := onWorkers(t, 2, distribute.MirroredOptions{Devices: []string{"cpu:0"}, ShardOptimizerState: true}, func(rank int, m *Model) error {
		if rank > 0 {
			defer close(told)
		}
		if _, err := m.Fit(context.Background(), recoveryData(14), BatchSize(6)); err != nil {
			return err
		}
		err := m.SaveWeights(file)
		if rank == 0 { // stays until the other one has been told
			select {
			case <-told:
			case <-time.After(10 * time.Second):
				return fmt.Errorf("the other waits")
			}
		}
		return err
	})
	require.ErrorIs(t, errs[0], os.ErrNotExist)
	require.ErrorContains(t, errs[1], "no such folder")
}
