package callbacks_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/callbacks"
)

func TestBadOptionsAreErrors(t *testing.T) {
	folder := t.TempDir()
	for name, c := range map[string]struct {
		callback callbacks.Callback
		want     string
	}{
		"factor":           {&callbacks.ReduceLROnPlateau{Factor: 1.5}, "Factor 1.5"},
		"schedule":         {&callbacks.LearningRateScheduler{}, "Schedule is nil"},
		"separator":        {&callbacks.CSVLogger{Filename: filepath.Join(folder, "f"), Separator: "::"}, `Separator is "::"`},
		"quotation mark":   {&callbacks.CSVLogger{Filename: filepath.Join(folder, "f"), Separator: `"`}, "no quotation mark"},
		"missing folder":   {&callbacks.CSVLogger{Filename: filepath.Join(folder, "no", "f")}, "a folder that exists"},
		"no backup folder": {&callbacks.BackupAndRestore{}, "BackupDir is empty"},
		"backup frequency": {&callbacks.BackupAndRestore{BackupDir: folder, SaveFreq: -1}, "SaveFreq is -1"},
		"save frequency":   {&callbacks.ModelCheckpoint{FilePath: "x.weights.npz", SaveWeightsOnly: true, SaveFreq: -2}, "SaveFreq is -2"},
		"whole model":      {&callbacks.ModelCheckpoint{FilePath: "x.keras"}, "cannot be saved whole"},
		"no path":          {&callbacks.ModelCheckpoint{}, `FilePath ""`},
	} {
		t.Run(name, func(t *testing.T) {
			callbacks.NewList([]callbacks.Callback{c.callback}, newFakeModel(), callbacks.Params{})
			require.ErrorContains(t, c.callback.OnTrainBegin(), c.want)
			require.NoError(t, c.callback.OnTrainEnd(nil), "the end hook comes also after that")
		})
	}
}

// wholeModel can be saved whole.
type wholeModel struct{ *fakeModel }

func (m wholeModel) SaveModel(path string) error { return m.write(path, "model") }

func TestModelCheckpointSavesWholeModels(t *testing.T) {
	folder := t.TempDir()
	m := wholeModel{newFakeModel()}
	c := &callbacks.ModelCheckpoint{FilePath: filepath.Join(folder, "{epoch}.keras")}
	c.SetModel(m)
	require.NoError(t, c.OnTrainBegin())
	logs := callbacks.NewLogs(nil)
	logs.Set("loss", 1)
	require.NoError(t, c.OnEpochEnd(0, logs))
	text, err := os.ReadFile(filepath.Join(folder, "1.keras"))
	require.NoError(t, err)
	require.Equal(t, "model", string(text))
	require.NoError(t, os.Mkdir(filepath.Join(folder, "2.keras"), 0o777))
	require.ErrorContains(t, c.OnEpochEnd(1, logs), "is a folder")
}

func TestVectorsCannotBeMonitored(t *testing.T) {
	logs := callbacks.NewLogs(nil)
	logs.Set("f1", 0.5, 0.25)
	for _, c := range []callbacks.Callback{&callbacks.EarlyStopping{Monitor: "f1", Mode: "max"}, &callbacks.ReduceLROnPlateau{Monitor: "f1", Mode: "max"}} {
		c.SetModel(newFakeModel())
		require.NoError(t, c.OnTrainBegin())
		require.ErrorContains(t, c.OnEpochEnd(0, logs), `"f1" has 2 numbers`)
	}
}

// TestUnknownDirection: a value whose direction is not known is an error, which says what there is where none has that
// name; with Mode it may come later.
func TestUnknownDirection(t *testing.T) {
	for _, monitoring := range []func(name string, mode callbacks.MonitorMode) callbacks.Callback{
		func(name string, mode callbacks.MonitorMode) callbacks.Callback {
			return &callbacks.EarlyStopping{Monitor: name, Mode: mode}
		},
		func(name string, mode callbacks.MonitorMode) callbacks.Callback {
			return &callbacks.ReduceLROnPlateau{Monitor: name, Mode: mode}
		},
		func(name string, mode callbacks.MonitorMode) callbacks.Callback {
			return &callbacks.ModelCheckpoint{FilePath: filepath.Join(t.TempDir(), "best.weights.npz"), Monitor: name, Mode: mode, SaveBestOnly: true, SaveWeightsOnly: true}
		},
	} {
		check := func(name string, mode callbacks.MonitorMode) error {
			logs := callbacks.NewLogs(nil)
			logs.Set("loss", 1)
			logs.Set("rank", 1)
			c := monitoring(name, mode)
			c.SetModel(newFakeModel())
			require.NoError(t, c.OnTrainBegin())
			return c.OnEpochEnd(0, logs)
		}
		missing, known := check("val_rank", ""), check("rank", "")
		require.ErrorContains(t, missing, `received Monitor "val_rank"`)
		require.ErrorContains(t, missing, `no value has that name; there are loss, rank. Set Mode to "max" or "min" for one that comes later`)
		require.ErrorContains(t, known, `received Monitor "rank", but it is not known whether`)
		require.NotContains(t, known.Error(), "no value has that name")
		require.NoError(t, check("val_rank", "max"))
	}
}

// Logs that cannot be computed end the run with that error.
func TestErrorsOfLogsArePassedOn(t *testing.T) {
	boom := errors.New("boom")
	folder := t.TempDir()
	for _, c := range []callbacks.Callback{
		&callbacks.EarlyStopping{}, &callbacks.ReduceLROnPlateau{}, &callbacks.History{}, &callbacks.CSVLogger{Filename: filepath.Join(folder, "f")},
		&callbacks.ModelCheckpoint{FilePath: filepath.Join(folder, "x.weights.npz"), SaveWeightsOnly: true, SaveBestOnly: true},
		&callbacks.LearningRateScheduler{Schedule: func(_ int, r float64) float64 { return r }}, &callbacks.RemoteMonitor{},
		callbacks.NewProgbarLogger(2, &newFakeModel().out),
	} {
		list := callbacks.NewList([]callbacks.Callback{c}, newFakeModel(), callbacks.Params{Steps: 1})
		require.NoError(t, c.OnTrainBegin())
		require.NoError(t, c.OnEpochBegin(0))
		require.ErrorIs(t, c.OnEpochEnd(0, callbacks.NewLogs(func(*callbacks.Logs) error { return boom })), boom, "%T", c)
		list.Fail(boom)
		require.NoError(t, c.OnTrainEnd(nil))
	}
}

// Without a run that ended well nothing is restored, and nothing removed that is not ours.
func TestEndHooksOfFailedRuns(t *testing.T) {
	folder := t.TempDir()
	m := newFakeModel()
	best := &callbacks.EarlyStopping{Monitor: "loss", RestoreBestWeights: true, Verbose: 1}
	backup := &callbacks.BackupAndRestore{BackupDir: folder}
	list := callbacks.NewList([]callbacks.Callback{best, backup}, m, callbacks.Params{})
	require.NoError(t, list.Each(func(c callbacks.Callback) error { return c.OnTrainBegin() }))
	logs := callbacks.NewLogs(nil)
	logs.Set("loss", 1)
	m.weight = 1
	require.NoError(t, list.Each(func(c callbacks.Callback) error { return c.OnEpochEnd(0, logs) }))
	m.weight = 2
	list.Fail(errors.New("boom"))
	require.NoError(t, list.EachAlways(func(c callbacks.Callback) error { return c.OnTrainEnd(nil) }))
	require.Equal(t, 2.0, m.weight)
	require.FileExists(t, filepath.Join(folder, "latest.weights.npz"))

	require.NoError(t, os.WriteFile(filepath.Join(folder, "mine.txt"), nil, 0o666))
	list.SetParams(callbacks.Params{})
	require.NoError(t, list.Each(func(c callbacks.Callback) error { return c.OnTrainBegin() }))
	require.Equal(t, 7, m.initialEpoch, "the backup was found")
	require.NoError(t, list.EachAlways(func(c callbacks.Callback) error { return c.OnTrainEnd(nil) }))
	require.NoFileExists(t, filepath.Join(folder, "latest.weights.npz"))
	require.FileExists(t, filepath.Join(folder, "mine.txt"))
}

func TestBackupFallsBack(t *testing.T) {
	folder := t.TempDir()
	m := newFakeModel()
	m.loadError = errors.New("damaged")
	c := &callbacks.BackupAndRestore{BackupDir: folder, DoubleCheckpoint: true}
	c.SetModel(m)
	require.NoError(t, c.OnTrainBegin())
	require.Equal(t, -1, m.initialEpoch, "there is nothing yet")
	require.NoError(t, c.OnEpochEnd(0, nil))
	require.ErrorContains(t, c.OnTrainBegin(), "damaged")
	require.NoError(t, c.OnEpochEnd(1, nil)) // keeps the first as .bkp
	require.NoError(t, c.OnTrainBegin())
	require.Equal(t, 7, m.initialEpoch)
	require.Contains(t, m.out.String(), "damaged")
	text, err := os.ReadFile(filepath.Join(folder, "training_metadata.json.bkp"))
	require.NoError(t, err)
	require.Equal(t, `{"epoch": 1, "batch": 0}`, string(text))
}

func TestLogsOrder(t *testing.T) {
	logs := callbacks.NewLogs(func(l *callbacks.Logs) error {
		l.Set("loss", 1)
		l.Set("accuracy", 2)
		return nil
	})
	logs.Append("learning_rate", 3)
	logs.Set("val_loss", 4)
	logs.Set("auc", 5, 6)
	logs.Append("loss", 7)
	require.Equal(t, []string{"accuracy", "auc", "loss", "val_loss", "learning_rate"}, logs.Names())
	loss, ok := logs.Get("loss")
	require.True(t, ok)
	require.Equal(t, 7.0, loss)
	require.Equal(t, []float64{5, 6}, logs.Vector("auc"))
	_, ok = logs.Get("nothing")
	require.False(t, ok)
	var none *callbacks.Logs
	require.Empty(t, none.Names())
	require.NoError(t, none.Err())
}

// Callbacks that look at epochs only do not make Fit call the batch hooks.
func TestWantsBatches(t *testing.T) {
	for _, c := range []struct {
		callback callbacks.Callback
		want     bool
	}{
		{&callbacks.EarlyStopping{}, false}, {&callbacks.ReduceLROnPlateau{}, false}, {&callbacks.LearningRateScheduler{}, false}, {&callbacks.CSVLogger{}, false},
		{&callbacks.SwapEMAWeights{}, false}, {&callbacks.RemoteMonitor{}, false}, {&callbacks.History{}, false}, {&callbacks.TerminateOnNaN{}, true},
		{&callbacks.ModelCheckpoint{}, false}, {&callbacks.ModelCheckpoint{SaveFreq: 2}, true}, {&callbacks.BackupAndRestore{}, false}, {&callbacks.BackupAndRestore{SaveFreq: 2}, true},
		{&callbacks.LambdaCallback{EpochEnd: func(int, *callbacks.Logs) error { return nil }}, false}, {&callbacks.LambdaCallback{TestBatchBegin: func(int) error { return nil }}, true},
		{&recorder{}, true}, {callbacks.NewProgbarLogger(1, nil), true}, {callbacks.NewProgbarLogger(2, nil), false}, {callbacks.NewProgbarLogger(0, nil), false},
	} {
		list := callbacks.NewList([]callbacks.Callback{c.callback}, newFakeModel(), callbacks.Params{Steps: 3})
		require.Equal(t, c.want, list.WantsBatches(), "%T %+v", c.callback, c.callback)
	}
	list := callbacks.NewList([]callbacks.Callback{callbacks.NewProgbarLogger(2, nil)}, newFakeModel(), callbacks.Params{Steps: -1})
	require.True(t, list.WantsBatches(), "the steps must be counted")
}
