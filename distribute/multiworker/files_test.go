//go:build unix

package multiworker_test

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/callbacks"
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras"
)

// writers are the callbacks that leave files, all in one folder.
func writers(dir string) []callbacks.Callback {
	path := func(name string) string { return filepath.Join(dir, name) }
	return []callbacks.Callback{
		&callbacks.TensorBoard{LogDir: path("logs"), UpdateFreq: 1, HistogramFreq: 1, WriteImages: true, ProfileBatch: []int{2}},
		&callbacks.CSVLogger{Filename: path("log.csv")},
		&callbacks.ModelCheckpoint{FilePath: path("model-{epoch}.keras")},
		&callbacks.ModelCheckpoint{FilePath: path("best.weights.h5"), SaveWeightsOnly: true, SaveBestOnly: true, Monitor: "loss"},
		&callbacks.BackupAndRestore{BackupDir: path("backup"), KeepCheckpoint: true},
	}
}

const summaryEpochs = 3

// summarize trains with all of them.
func summarize(ctx context.Context, s distribute.Strategy, dir string) error {
	m, err := mlp(s)
	if err != nil {
		return err
	}
	_, err = m.Fit(ctx, trainings()[0].arrays(false), keras.BatchSize(8), keras.Epochs(summaryEpochs), keras.ValidationData(trainings()[0].arrays(true)), keras.Callbacks(writers(dir)...))
	return err
}

// summaries writes to a folder of each worker, so that it is seen who wrote.
func summaries(ctx context.Context, s *distribute.MultiWorkerMirroredStrategy) (any, error) {
	dir := filepath.Join(os.Getenv(dirVariable), fmt.Sprint(s.Rank()))
	if err := os.Mkdir(dir, 0o777); err != nil {
		return nil, err
	}
	return nil, summarize(ctx, s, dir)
}

// filesIn lists the files of a folder, without what differs from run to run in their names.
func filesIn(t *testing.T, dir string) (list []string) {
	t.Helper()
	unique := regexp.MustCompile(`events\.out\.tfevents.*`)
	require.NoError(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && path != dir {
			list = append(list, unique.ReplaceAllString(strings.TrimPrefix(path, dir+"/"), "events"))
		}
		return err
	}))
	return list
}

// With several workers only the chief writes what callbacks leave behind, and it writes what one process alone does.
func TestFilesOfTheChief(t *testing.T) {
	dir := t.TempDir()
	all[any](start(t, 3, "summaries", dir))
	alone := t.TempDir()
	require.NoError(t, summarize(t.Context(), distribute.Default(), alone))
	want := filesIn(t, alone)
	for _, name := range []string{"backup/latest.weights.npz", "best.weights.h5", "log.csv", "logs/train/events", "logs/validation/events", "model-3.keras"} {
		require.Contains(t, want, name)
	}
	require.Equal(t, want, filesIn(t, filepath.Join(dir, "0")))
	for _, rank := range []string{"1", "2"} {
		require.Empty(t, filesIn(t, filepath.Join(dir, rank)))
	}
	text, err := os.ReadFile(filepath.Join(dir, "0/log.csv"))
	require.NoError(t, err)
	lines := strings.Split(strings.TrimSpace(string(text)), "\r\n")
	require.Len(t, lines, 1+summaryEpochs)
	require.Equal(t, "epoch,loss,val_loss", lines[0])
}
