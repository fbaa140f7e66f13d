package estimator

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/gokeras/gokeras/internal/atomicfile"
)

// Exporter exports models during [TrainAndEvaluate]: tf.estimator.Exporter. An export is a folder with one checkpoint,
// which an [Estimator] with the same ModelFn can use as its ModelDir. (TensorFlow's holds a SavedModel, which includes
// the graph; here the ModelFn is the graph.)
type Exporter interface {
	// Name returns the name of the folder below ModelDir/export; exports in it are numbered by the time in seconds.
	Name() string
	// Export is called after each evaluation of checkpoint, with its results; final says whether it is the last one. It
	// returns the path of the export, or "" for none.
	Export(e *Estimator, path, checkpoint string, results map[string]float64, final bool) (string, error)
}

// LatestExporter exports after each evaluation: tf.estimator.LatestExporter.
type LatestExporter struct {
	// ExporterName is the name of the folder.
	ExporterName string
	// ExportsToKeep is how many of the newest exports are kept; nil is 5, 0 is all.
	ExportsToKeep *int
}

// FinalExporter exports once, after the last evaluation: tf.estimator.FinalExporter.
type FinalExporter struct {
	// ExporterName is the name of the folder.
	ExporterName string
}

// BestExporter exports if an evaluation is better than all before, including those of earlier runs:
// tf.estimator.BestExporter. The best results are stored in the file "best.json" beside the exports.
type BestExporter struct {
	// ExporterName is the name of the folder; "" is "best_exporter".
	ExporterName string
	// Compare reports whether current is better than best; nil compares by the smaller "loss".
	Compare func(best, current map[string]float64) bool
	// ExportsToKeep is how many of the newest exports are kept; nil is 5, 0 is all.
	ExportsToKeep *int
}

const defaultExports = 5

// bestFile holds the results of the best evaluation.
const bestFile = "best.json"

// Name returns the name of the folder.
func (x *LatestExporter) Name() string { return x.ExporterName }

// Name returns the name of the folder.
func (x *FinalExporter) Name() string { return x.ExporterName }

// Name returns the name of the folder.
func (x *BestExporter) Name() string { return cmp.Or(x.ExporterName, "best_exporter") }

// Export always exports.
func (x *LatestExporter) Export(_ *Estimator, path, checkpoint string, _ map[string]float64, _ bool) (string, error) {
	return export(path, checkpoint, or(x.ExportsToKeep, defaultExports))
}

// Export exports after the final evaluation.
func (x *FinalExporter) Export(_ *Estimator, path, checkpoint string, _ map[string]float64, final bool) (string, error) {
	if !final {
		return "", nil
	}
	return export(path, checkpoint, 0)
}

// Export exports if the results are better than the best so far.
func (x *BestExporter) Export(_ *Estimator, path, checkpoint string, results map[string]float64, _ bool) (string, error) {
	best, err := readBest(filepath.Join(path, bestFile))
	if err != nil {
		return "", err
	}
	better := x.Compare
	if better == nil {
		better = smallerLoss
	}
	if best != nil && !better(best, results) {
		return "", nil
	}
	out, err := export(path, checkpoint, or(x.ExportsToKeep, defaultExports))
	if err != nil {
		return "", err
	}
	return out, atomicfile.Write(filepath.Join(path, bestFile), func(w io.Writer) error { return json.NewEncoder(w).Encode(finite(results)) })
}

// smallerLoss compares losses; NaN is worse than any other.
func smallerLoss(best, current map[string]float64) bool {
	a, b := best["loss"], current["loss"]
	return b < a || math.IsNaN(a) && !math.IsNaN(b)
}

// finite drops results that JSON cannot represent.
func finite(results map[string]float64) map[string]float64 {
	out := maps.Clone(results)
	maps.DeleteFunc(out, func(_ string, v float64) bool { return math.IsNaN(v) || math.IsInf(v, 0) })
	return out
}

// readBest reads the best results, or returns nil if there are none. A missing value was not finite.
func readBest(path string) (map[string]float64, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("estimator: BestExporter: %w", err)
	}
	defer f.Close()
	best, err := parseBest(f)
	if err != nil {
		return nil, fmt.Errorf("estimator: BestExporter: reading %s: %w; remove it to start over", path, err)
	}
	return best, nil
}

// parseBest reads an object of numbers of at most one megabyte.
func parseBest(r io.Reader) (map[string]float64, error) {
	var best map[string]float64
	if err := json.NewDecoder(io.LimitReader(r, stateLimit)).Decode(&best); err != nil {
		return nil, fmt.Errorf("expected an object of numbers: %w", err)
	}
	if best == nil {
		return nil, errors.New("expected an object of numbers, received null")
	}
	if _, ok := best["loss"]; !ok {
		best["loss"] = math.NaN()
	}
	return best, nil
}

// export copies a checkpoint to a new folder below path and removes old exports beyond keep; 0 keeps all.
func export(path, checkpoint string, keep int) (string, error) {
	fail := func(err error) (string, error) { return "", fmt.Errorf("estimator: exporting: %w", err) }
	if err := os.MkdirAll(path, 0o777); err != nil {
		return fail(err)
	}
	var at string
	for stamp := time.Now().Unix(); ; stamp++ { // for two exports within a second
		at = filepath.Join(path, strconv.FormatInt(stamp, 10))
		err := os.Mkdir(at, 0o777)
		if err == nil {
			break
		}
		if !errors.Is(err, fs.ErrExist) {
			return fail(err)
		}
	}
	name := filepath.Base(checkpoint)
	err := atomicfile.Write(filepath.Join(at, name+extension), func(w io.Writer) error {
		f, err := os.Open(checkpoint + extension)
		if err != nil {
			return err
		}
		defer f.Close()
		_, err = io.Copy(w, f)
		return err
	})
	if err == nil {
		state := checkpointState{name, []string{name}}
		err = atomicfile.Write(filepath.Join(at, stateFile), func(w io.Writer) error { _, err := io.WriteString(w, state.String()); return err })
	}
	if err != nil {
		return fail(errors.Join(err, os.RemoveAll(at)))
	}
	return at, removeExports(path, keep)
}

// removeExports removes all but the newest exports.
func removeExports(path string, keep int) error {
	entries, err := os.ReadDir(path)
	if err != nil {
		return fmt.Errorf("estimator: exporting: %w", err)
	}
	var stamps []int64
	for _, e := range entries {
		if n, err := strconv.ParseInt(e.Name(), 10, 64); err == nil && e.IsDir() {
			stamps = append(stamps, n)
		}
	}
	slices.Sort(stamps)
	for ; keep > 0 && len(stamps) > keep; stamps = stamps[1:] {
		if err := os.RemoveAll(filepath.Join(path, strconv.FormatInt(stamps[0], 10))); err != nil {
			return fmt.Errorf("estimator: exporting: removing an old export: %w", err)
		}
	}
	return nil
}

// checkExporters reports exporters with the same name.
func checkExporters(list []Exporter) error {
	names := map[string]bool{}
	for i, x := range list {
		if x == nil {
			return fmt.Errorf("estimator: EvalSpec: exporter %d is nil", i)
		}
		name := x.Name()
		if name == "" || name != filepath.Base(name) || name == "." || name == ".." {
			return fmt.Errorf("estimator: EvalSpec: the name of exporter %d is %q; expected the name of a folder", i, name)
		}
		if names[name] {
			return fmt.Errorf("estimator: EvalSpec: `exporters` must have unique names, %q comes twice", name)
		}
		names[name] = true
	}
	return nil
}
