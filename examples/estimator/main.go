// Command estimator runs the two programs of the Estimator guide.
//
// The regressor (-model linear): one numeric column "feats", SGD, a feature [1.] and a label [1.] repeated 1,000 times
// in batches of 10, and ten steps of training and of evaluation on two replicas. The strategy is one line: -strategy
// mirrored, central, one or default. A batch belongs to one replica, so two replicas take 20 examples per step; all
// strategies print the same numbers.
//
// The classifier of handwritten digits (-model mnist) is a convolutional network in a ModelFn, trained and evaluated
// alternately. On several workers, with a separate process that evaluates:
//
//	keras launch -n 2 --evaluator --restarts 3 -- ./estimator -model mnist -strategy multiworker -model-dir DIR
//
//	keras launch --ps 2 -n 3 --evaluator -- ./estimator -model mnist -strategy parameterserver -model-dir DIR
//
// The chief writes checkpoints and summaries to DIR. A lost worker that is restarted continues with the others from the
// latest checkpoint.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"maps"
	"os"
	"os/signal"
	"slices"
	"syscall"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/distribute/cluster"
	"github.com/gokeras/gokeras/distribute/collective"
	"github.com/gokeras/gokeras/distribute/multiworker"
	"github.com/gokeras/gokeras/distribute/parameterserver"
	"github.com/gokeras/gokeras/keras/estimator"
)

// flags are the command line's flags.
type flags struct {
	model, strategy, dir, data string
	steps, batch, every        int
	rate                       float64
}

func main() {
	var f flags
	flag.StringVar(&f.model, "model", "linear", "linear or mnist")
	flag.StringVar(&f.strategy, "strategy", "mirrored", "mirrored, central, one, default, multiworker or parameterserver")
	flag.StringVar(&f.dir, "model-dir", "", "folder of the checkpoints; a temporary one that is removed at the end by default")
	flag.StringVar(&f.data, "data", "", "of mnist: folder with the four IDX files; without it the cache or the built-in subset is used")
	flag.IntVar(&f.steps, "steps", 300, "of mnist: steps to train")
	flag.IntVar(&f.batch, "batch-size", 64, "of mnist: examples of a replica in a step")
	flag.IntVar(&f.every, "save-every", 50, "of mnist: steps between two checkpoints")
	flag.Float64Var(&f.rate, "learning-rate", 0.1, "of mnist: learning rate of gradient descent")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Stdout, f); err != nil {
		log.Fatal(err)
	}
}

// secretVariable holds a secret that the workers share; keras launch creates one for each job.
const secretVariable = "KERAS_SECRET"

// newStrategy is the line that changes.
func newStrategy(ctx context.Context, w io.Writer, name string) (distribute.Strategy, error) {
	switch name {
	case "mirrored":
		return distribute.NewMirroredStrategy("cpu:0", "cpu:1")
	case "central":
		return distribute.NewCentralStorageStrategy("cpu:0", "cpu:1")
	case "one":
		return distribute.NewOneDeviceStrategy("cpu:0")
	case "default":
		return distribute.Default(), nil
	case "multiworker", "parameterserver":
		if task, err := (&cluster.TFConfig{}).TaskType(); err != nil || task == cluster.Evaluator {
			return nil, err // it stands beside those that train
		}
		if name == "parameterserver" {
			return parameterserver.NewStrategy(ctx, serverOptions()) // waits for the servers
		}
		o := multiworker.Options{Devices: []string{"cpu:0"}, Elastic: &distribute.Elastic{}, Observe: func(text string) { fmt.Fprintln(w, text) }}
		if secret := os.Getenv(secretVariable); secret != "" {
			o.Security = &collective.Security{Secret: []byte(secret)}
		}
		return multiworker.NewStrategy(ctx, o) // waits for the others
	}
	return nil, fmt.Errorf("there is no strategy %q; use mirrored, central, one, default, multiworker or parameterserver", name)
}

// serverOptions returns the options for a process of a job with parameter servers.
func serverOptions() parameterserver.Options {
	o := parameterserver.Options{Observe: func(text string) { fmt.Fprintln(os.Stderr, text) }}
	if secret := os.Getenv(secretVariable); secret != "" {
		o.Security = &collective.Security{Secret: []byte(secret)}
	}
	return o
}

func run(ctx context.Context, w io.Writer, f flags) (err error) {
	if f.strategy == "parameterserver" {
		if task, err := (&cluster.TFConfig{}).TaskType(); err != nil || task == cluster.ParameterServer {
			return errors.Join(err, parameterserver.Serve(ctx, serverOptions()))
		}
	}
	strategy, err := newStrategy(ctx, w, f.strategy)
	if errors.Is(err, distribute.ErrLeft) {
		fmt.Fprintln(w, "the others have finished without this worker")
		return nil
	}
	if err != nil {
		return err
	}
	if s, ok := strategy.(io.Closer); ok {
		defer func() { err = errors.Join(err, s.Close()) }()
	}
	if f.dir == "" {
		if f.dir, err = os.MkdirTemp("", "estimator"); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(f.dir)) }()
	}
	if strategy != nil {
		fmt.Fprintf(w, "%v: %d replicas\n", strategy, strategy.NumReplicasInSync())
	}
	switch f.model {
	case "linear":
		return linear(ctx, w, strategy, f.dir)
	case "mnist":
		return mnist(ctx, w, strategy, f)
	}
	return fmt.Errorf("there is no model %q; use linear or mnist", f.model)
}

// input creates the data for one session of the regressor.
func input(distribute.InputContext) (data.Dataset, error) {
	one := data.FromTensorSlices(map[string]any{"feats": [][]float32{{1}}}, [][]float32{{1}})
	return one.Repeat(1000).Batch(10, false), nil
}

func linear(ctx context.Context, w io.Writer, strategy distribute.Strategy, dir string) error {
	regressor, err := estimator.NewLinearRegressor(estimator.LinearRegressor{
		FeatureColumns: []estimator.FeatureColumn{estimator.NumericColumn{Key: "feats"}},
		Optimizer:      "SGD",
		Config:         estimator.RunConfig{TrainDistribute: strategy, EvalDistribute: strategy, ModelDir: dir},
	})
	if err != nil {
		return err
	}
	if err := regressor.Train(ctx, input, estimator.Steps(10)); err != nil {
		return err
	}
	results, err := regressor.Evaluate(ctx, input, estimator.Steps(10))
	if err != nil {
		return err
	}
	show(w, results)
	for prediction, err := range regressor.Predict(ctx, input) {
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "%-16s %.6f\n", "prediction", prediction["predictions"].Elements().([]float32)[0])
		break
	}
	return nil
}

// show prints the results of an evaluation.
func show(w io.Writer, results map[string]float64) {
	for _, key := range slices.Sorted(maps.Keys(results)) {
		fmt.Fprintf(w, "%-16s %.6f\n", key, results[key])
	}
}
