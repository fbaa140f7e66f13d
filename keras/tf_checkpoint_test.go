package keras_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/callbacks"
	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/internal/tfvectors"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/optimizers"
)

func TestCheckpointVectors(t *testing.T) {
	tfHandlers{"checkpoint.": checkpointCase, "backup_and_restore": backupCase}.run(t, "testdata/tf_checkpoint.json.gz")
}

// checkpointCase saves under one strategy and continues under another.
func checkpointCase(t *testing.T, c *tfvectors.Case) {
	strategyNamed := func(name any) distribute.Strategy {
		n := 0
		if _, err := fmt.Sscanf(name.(string), "mirrored%d", &n); err != nil {
			return distribute.Default()
		}
		return tfStrategy(t, "Mirrored", n)
	}
	global := int(tfvectors.Number(t, c.Setup["global_batch"]))
	x, y := c.Inputs["x"].([]any), c.Inputs["y"].([]any)
	rows := func(step int) *data.ArraySource {
		return data.Arrays(tfDense(t, x[step*global:(step+1)*global], false), tfDense(t, y[step*global:(step+1)*global], true))
	}
	compiled := func(s distribute.Strategy) *keras.Model {
		m, config := tfModel(t, "convsyncbn", s)
		config.Optimizer = tfOptimizer(t, c.Setup["optimizer"])
		require.NoError(t, m.Compile(config))
		return m
	}
	step := func(m *keras.Model, i int) {
		t.Helper()
		_, err := m.TrainOnBatch(context.Background(), rows(i))
		require.NoError(t, err)
	}
	same := func(what string, want any, m *keras.Model) {
		t.Helper()
		for i, w := range want.([]any) {
			c.Close(t, fmt.Sprint(what, " ", i), w, tfValue(t, m.Weights()[i]))
		}
	}
	from, to := strategyNamed(c.Setup["saved_under"]), strategyNamed(c.Setup["restored_under"])
	saver := compiled(from)
	require.NoError(t, saver.SetWeights(tfArrays(t, c.Inputs["initial_weights"])))
	step(saver, 0)
	step(saver, 1)
	same("saved weight", tfvectors.Get(c.Expected, "saver", "weights"), saver)
	path := filepath.Join(t.TempDir(), "backup.npz")
	require.NoError(t, saver.SaveBackup(path, callbacks.Progress{}))
	step(saver, 2)
	same("weight after one more", tfvectors.Get(c.Expected, "saver", "weights_after_one_more"), saver)

	restorer := compiled(to)
	step(restorer, 3) // builds the optimizer; its effect is undone
	_, err := restorer.LoadBackup(path)
	require.NoError(t, err)
	same("restored weight", tfvectors.Get(c.Expected, "restorer", "weights"), restorer)
	require.NoError(t, restorer.Weights().CheckMirrored())
	step(restorer, 2)
	same("restored weight after one more", tfvectors.Get(c.Expected, "restorer", "weights_after_one_more"), restorer)

	// Variables that are synchronized on read: local values 3, 4, ..., or 7 and 3.5 without replicas.
	for name, agg := range map[string]distribute.VariableAggregation{"sum": distribute.Sum, "mean": distribute.Mean} {
		spec := distribute.VariableSpec{Name: name, DType: ir.Float32, Synchronization: distribute.OnRead, Aggregation: agg}
		v, err := distribute.Scope(from).NewVariable(spec)
		require.NoError(t, err)
		var local distribute.PerReplica
		for i := range from.Devices() {
			local = append(local, tfArray(t, ir.Float32, 3.0+float64(i)))
		}
		if len(local) == 1 {
			local[0] = tfArray(t, ir.Float32, map[string]any{"sum": 7.0, "mean": 3.5}[name])
		}
		require.NoError(t, v.SetComponents(local))
		saved, err := v.Value()
		require.NoError(t, err)
		c.Close(t, "saved on-read "+name, tfvectors.Get(c.Expected, "saver", "saved_on_read_"+name), saved.Float64s())
		w, err := distribute.Scope(to).NewVariable(spec)
		require.NoError(t, err)
		require.NoError(t, w.SetValue(saved))
		p, err := w.Components()
		require.NoError(t, err)
		c.Close(t, "restored on-read "+name, tfvectors.Get(c.Expected, "restorer", "on_read_"+name+"_components"), flatValue(p))
	}
}

// interrupter ends a run with an error.
type interrupter struct {
	callbacks.Base
	epoch, batch int // batch -1: at the end of the epoch
	at           int
}

var errBoom = errors.New("boom")

func (b *interrupter) OnEpochBegin(epoch int) error {
	b.at = epoch
	return nil
}

func (b *interrupter) OnTrainBatchEnd(batch int, _ *callbacks.Logs) error {
	if b.at == b.epoch && batch == b.batch {
		return errBoom
	}
	return nil
}

func (b *interrupter) OnEpochEnd(epoch int, _ *callbacks.Logs) error {
	if epoch == b.epoch && b.batch < 0 {
		return errBoom
	}
	return nil
}

// backupCase interrupts a run and continues from its backup. The weights must equal exactly those of an uninterrupted
// run, where Keras repeats batches.
func backupCase(t *testing.T, c *tfvectors.Case) {
	parts := strings.Split(c.ID, ".")
	boom := &interrupter{batch: -1}
	if _, err := fmt.Sscanf(parts[2], "fail_epoch%d_batch%d", &boom.epoch, &boom.batch); err != nil {
		_, err := fmt.Sscanf(parts[2], "fail_epoch%d", &boom.epoch)
		require.NoError(t, err)
	}
	frequency := 0
	if parts[3] != "save_epoch" {
		_, err := fmt.Sscanf(parts[3], "save_%d", &frequency)
		require.NoError(t, err)
	}
	epochs := 4
	if frequency > 0 {
		epochs = 3
	}
	dir := t.TempDir()
	run := func(list ...callbacks.Callback) (*keras.Model, error) {
		m, config := tfModel(t, "mlp", tfStrategy(t, c.Setup["strategy"], c.Replicas()))
		config.Optimizer = &optimizers.Adam{LearningRate: 0.01}
		require.NoError(t, m.Compile(config))
		require.NoError(t, m.SetWeights(tfArrays(t, c.Inputs["initial_weights"])))
		_, err := m.Fit(context.Background(), data.Arrays(tfDense(t, c.Inputs["x"], false), tfDense(t, c.Inputs["y"], true)),
			keras.BatchSize(8), keras.Epochs(epochs), keras.Shuffle(false), keras.Callbacks(list...))
		return m, err
	}
	backup := func() callbacks.Callback { return &callbacks.BackupAndRestore{BackupDir: dir, SaveFreq: frequency} }
	_, err := run(backup(), boom)
	require.ErrorIs(t, err, errBoom)
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	require.NoError(t, err)
	require.NotEmpty(t, files, "there is a backup between the runs")
	m, err := run(backup())
	require.NoError(t, err)
	files, err = filepath.Glob(filepath.Join(dir, "*"))
	require.NoError(t, err)
	require.Empty(t, files, "there is none after a run that ended well")
	want := tfvectors.Get(c.Exact, "weights_last")
	require.NotNil(t, want)
	for i, w := range want.([]any) {
		c.Within(t, fmt.Sprint("weight ", i), w, tfValue(t, m.Weights()[i]), 2e-5, 2e-4)
	}
}
