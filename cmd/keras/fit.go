package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gokeras/gokeras/callbacks"
	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/distribute/tpu"
	"github.com/gokeras/gokeras/internal/atomicfile"
	"github.com/gokeras/gokeras/keras"
)

// fitFlags are the flags of the fit command.
type fitFlags struct {
	modelFlags
	workerFlags
	callbackFlags
	classWeight                              string
	validationSplit                          float64
	validationX, validationY                 string
	epochs, initialEpoch, stepsPerEpoch, log int
	noShuffle                                bool
	seed                                     uint64
	output, history, backup, trace           string
	metricsAddress                           string
}

func newFit() *cobra.Command {
	var f fitFlags
	c := &cobra.Command{
		Use:   "fit MODEL --x IN --y IN --output TRAINED",
		Short: "Train a model",
		Long: "Train a compiled model on the examples in IN and write the result, with the state of its optimizer, to TRAINED.\n" +
			"A run that is interrupted (Ctrl-C, SIGTERM) writes what it has reached; with --backup it ends with status 75, and the same command goes\n" +
			"on after the last step. A second signal ends it at once, by that signal: what was not written yet is lost, the last backup is not.\n\n" +
			"With --strategy parameterserver the variables lie on the tasks ps; every task runs the same command, with --steps-per-epoch.\n" +
			"With --strategy multiworker TF_CONFIG says who the workers are, and each runs the same command; keras launch starts them on one\n" +
			"machine. A signal to one of them stops all after the same step; where they wait for a lost worker, it stops all at once, and the\n" +
			"first of those that are left writes the backup. With --backup a worker that is lost may come back: the others keep the model and\n" +
			"wait for it. With --elastic MIN:MAX they go on while MIN are left, and take it in when it comes back. Workers of several machines\n" +
			"need --secret-file or certificates.\n\n" +
			"With --strategy tpu each host of the TPU runs the same command. A host that is lost ends the job on all of them; with --backup the\n" +
			"same commands go on where the backup is.",
		Example: "  keras fit model.keras --x images.npy --y labels.npy --epochs 3 --output trained.keras\n" +
			"  keras fit model.keras --x x.npy --y y.npy --validation-split 0.2 --epochs 100 --learning-rate 0.001 --early-stopping 5 \\\n" +
			"    --checkpoint best.keras --tensorboard logs --output trained.keras\n" +
			"  keras fit model.keras --x train.npz --y train.npz --validation-split 0.1 --class-weight '{\"0\": 1, \"1\": 5}' \\\n" +
			"    --strategy mirrored --devices cpu:0,cpu:1 --output trained.keras --history history.json\n" +
			"  keras launch -n 2 --restarts 3 -- keras fit model.keras --x x.npy --y y.npy --strategy multiworker --backup backup --output trained.keras\n" +
			"  keras launch -n 4 --restarts 3 --min-workers 2 -- keras fit model.keras --x x.npy --y y.npy --strategy multiworker --elastic 2:4 \\\n" +
			"    --backup backup --output trained.keras",
		Args: exactly("MODEL"),
		RunE: func(c *cobra.Command, args []string) error { return f.run(c, args[0]) },
	}
	s := c.Flags()
	f.modelFlags.register(s, true)
	s.StringVar(&f.classWeight, "class-weight", "", `weight of each class in the loss, as JSON: {"0": 1, "1": 5}`)
	s.Float64Var(&f.validationSplit, "validation-split", 0, "last part of the examples that is kept for validation, such as 0.1")
	s.StringVar(&f.validationX, "validation-x", "", "inputs for validation")
	s.StringVar(&f.validationY, "validation-y", "", "targets for validation")
	s.IntVar(&f.epochs, "epochs", 1, "index after the last epoch")
	s.IntVar(&f.initialEpoch, "initial-epoch", 0, "epoch to begin with")
	s.IntVar(&f.stepsPerEpoch, "steps-per-epoch", 0, "batches in an epoch (default all)")
	s.BoolVar(&f.noShuffle, "no-shuffle", false, "keep the order of the examples")
	s.Uint64Var(&f.seed, "seed", 0, "seed of shuffling and dropout")
	s.IntVar(&f.log, "verbose", 1, "what is printed: 0 nothing, 1 a progress bar, 2 one line an epoch")
	s.StringVar(&f.output, "output", "", "file for the trained model: .keras")
	s.StringVar(&f.backup, "backup", "", "folder for a backup after each epoch, and the one before it, from which a run that was cut off goes on")
	s.StringVar(&f.elastic, "elastic", "", "fewest and most workers to train with, MIN:MAX (default all, always)")
	s.StringVar(&f.history, "history", "", "file for the losses and metrics of each epoch: .json")
	s.StringVar(&f.trace, "trace", "", "file for a trace of the first 20 steps, for chrome://tracing: .json; further workers write name-1.json and so on")
	f.callbackFlags.register(s)
	f.securityFlags.register(s)
	s.StringVar(&f.metricsAddress, "metrics-addr", "", "HOST:PORT at which the time of steps, traffic and the group of workers are shown to Prometheus, at /metrics,\nsuch as :9090 on the loopback interface; worker i takes the port i further on, then come parameter servers and their coordinator")
	return c
}

func (f *fitFlags) run(c *cobra.Command, path string) error {
	if err := required(c, "x", "output"); err != nil {
		return err
	}
	if c.Flags().Changed("validation-x") != c.Flags().Changed("validation-y") {
		return usagef("fit: --validation-x and --validation-y belong together; give both")
	}
	classWeight, err := parseClassWeight(f.classWeight)
	if err != nil {
		return err
	}
	if err := checkModelFile(f.output, "output"); err != nil {
		return err
	}
	if err := f.callbackFlags.check(c.Flags()); err != nil {
		return err
	}
	if serves, err := f.serveVariables(c); serves || err != nil {
		return err
	}
	metrics, closeMetrics, err := f.serveMetrics(c)
	if err != nil {
		return err
	}
	defer func() { _ = closeMetrics() }() // the run has ended, and nobody else is asked
	strategy, isChief, closeStrategy, err := f.place(c.Context(), c)
	if err != nil && c.Context().Err() != nil {
		return f.errStoppedBefore()
	}
	if errors.Is(err, distribute.ErrLeft) {
		return f.late(c, err)
	}
	if err != nil {
		return err
	}
	defer closeStrategy()
	if isChief() { // the others write nothing
		if err := f.checkPlaces(); err != nil {
			return err
		}
	}
	m, err := f.loadOn(strategy, path, keras.Seed(f.seed))
	if err != nil {
		return err
	}
	source, err := f.source(m)
	if err != nil {
		return err
	}
	options, err := f.runOptions(c, m, strategy, isChief)
	if err != nil {
		return err
	}
	if classWeight != nil {
		options = append(options, keras.ClassWeight(classWeight))
	}
	return f.train(c, m, source, append(metrics, options...), isChief)
}

// runOptions returns the options of Fit for the flags, in one process of the job.
func (f *fitFlags) runOptions(c *cobra.Command, m *keras.Model, strategy distribute.Strategy, isChief func() bool) ([]keras.FitOption, error) {
	options := []keras.FitOption{
		f.batchOption(), keras.Epochs(f.epochs), keras.InitialEpoch(f.initialEpoch), keras.StepsPerEpoch(f.stepsPerEpoch),
		keras.Shuffle(!f.noShuffle), keras.ProgressOutput(chiefWriter{c.OutOrStdout(), isChief}),
	}
	if isChief() {
		options = append(options, keras.Verbose(f.log))
	} else {
		options = append(options, keras.Verbose(2*min(f.log, 1))) // one that becomes the chief later says a line an epoch
	}
	if f.backup != "" {
		options = append(options, keras.Callbacks(&callbacks.BackupAndRestore{BackupDir: f.backup, DoubleCheckpoint: true}))
	}
	if f.trace != "" {
		options = append(options, keras.Callbacks(f.tracer(strategy)))
	}
	if f.validationSplit != 0 {
		options = append(options, keras.ValidationSplit(f.validationSplit))
	}
	if f.validationX != "" {
		validation, err := readSource(m, f.validationX, "validation-x", f.validationY, "validation-y", "")
		if err != nil {
			return nil, err
		}
		options = append(options, keras.ValidationData(validation))
	}
	watching, err := f.callbackFlags.options(m, f.validationSplit != 0 || f.validationX != "")
	if err != nil {
		return nil, err
	}
	return append(options, keras.Callbacks(watching...)), nil
}

// checkPlaces refuses output files that cannot be written.
func (f *fitFlags) checkPlaces() error {
	for _, file := range []struct{ flag, path string }{{"--output ", f.output}, {"--history ", f.history}, {"--trace ", f.trace}} {
		if file.path == "" {
			continue
		}
		if err := checkPlace(file.flag, file.path); err != nil {
			return err
		}
	}
	return nil
}

// tracer traces this process. Workers other than the chief add their number to the name of the file.
func (f *fitFlags) tracer(s distribute.Strategy) *callbacks.Trace {
	t := &callbacks.Trace{Path: f.trace}
	if w, ok := s.(interface {
		IsChief() bool
		Rank() int
	}); ok && !w.IsChief() {
		t.Process = w.Rank()
		extension := filepath.Ext(f.trace)
		t.Path = fmt.Sprintf("%s-%d%s", strings.TrimSuffix(f.trace, extension), t.Process, extension)
	}
	return t
}

// place creates the strategy. Of several workers only one, the chief, prints and writes files.
func (f *fitFlags) place(ctx context.Context, c *cobra.Command) (s distribute.Strategy, isChief func() bool, closeStrategy func(), err error) {
	if f.batchSize < 0 {
		return nil, nil, nil, usagef("--batch-size %d: expected a positive number", f.batchSize)
	}
	if f.strategy == onServers {
		s, err := f.placeOnServers(ctx, c)
		if err != nil {
			return nil, nil, nil, err
		}
		return s, s.IsCoordinator, func() { _ = s.Close() }, nil // the run has ended, one way or the other
	}
	if f.strategy == tpu.Kind && f.elastic == "" {
		s, err := f.onCores(ctx, f.securityFlags)
		if err != nil {
			return nil, nil, nil, err
		}
		return s, s.IsChief, func() { _ = s.Close() }, nil // the run has ended, one way or the other
	}
	if f.strategy != "multiworker" {
		if f.elastic != "" || f.given() {
			return nil, nil, nil, usagef("fit: --elastic belongs to --strategy multiworker or parameterserver, --secret-file and --tls-* to these and tpu")
		}
		s, err = f.chooseStrategy()
		return s, func() bool { return true }, func() {}, err
	}
	workers, err := f.placeOnWorkers(ctx)
	if err != nil {
		return nil, nil, nil, err
	}
	return workers, workers.IsChief, func() { _ = workers.Close() }, nil // the run has ended, one way or the other
}

// train runs Fit and writes the result, even if the run was interrupted.
func (f *fitFlags) train(c *cobra.Command, m *keras.Model, source data.Dataset, options []keras.FitOption, isChief func() bool) error {
	history, err := m.Fit(c.Context(), source, options...)
	interrupted := stopped(c.Context(), err)
	if err != nil && !interrupted {
		return err
	}
	write := func() error {
		if err := m.Save(f.output); err != nil {
			return err
		}
		if f.history != "" && history != nil && isChief() {
			return writeHistory(f.history, history)
		}
		return nil
	}
	if interrupted { // the group of the workers may have ended
		if failed := write(); failed != nil {
			return failed
		}
		if f.strategy == onServers && !isChief() {
			return errors.New("interrupted; the coordinator writes what was reached")
		}
		return f.errStopped()
	}
	return m.OnChief(c.Context(), write)
}

// parseClassWeight reads {"class": weight, ...}.
func parseClassWeight(text string) (map[int]float64, error) {
	if text == "" {
		return nil, nil
	}
	var named map[string]float64
	if err := json.Unmarshal([]byte(text), &named); err != nil {
		return nil, usagef(`--class-weight %s: %w; expected {"0": 1, "1": 5}`, text, err)
	}
	weights := map[int]float64{}
	for name, w := range named {
		class, err := strconv.Atoi(name)
		if err != nil {
			return nil, usagef(`--class-weight: %q is not the number of a class; expected {"0": 1, "1": 5}`, name)
		}
		weights[class] = w
	}
	return weights, nil
}

// writeHistory writes an object that maps each name to the list of its values, like Keras's history.history.
func writeHistory(path string, h *keras.History) error {
	var o object
	for _, name := range h.Names() {
		vectors := h.Vectors[name]
		if vectors == nil {
			o.add(name, list(h.Logs[name]))
			continue
		}
		var epochs object
		for _, v := range vectors {
			epochs.add("", list(v))
		}
		o.add(name, epochs.elements())
	}
	return atomicfile.Write(path, func(w io.Writer) error {
		_, err := fmt.Fprintln(w, o)
		return err
	})
}
