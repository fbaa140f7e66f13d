// Command estimator is the regressor of the Estimator guide: one numeric column "feats", SGD, a feature [1.] and a label [1.] repeated
// 1,000 times in batches of 10, and ten steps of training and of evaluation on two replicas.
//
// The strategy is one line: -strategy mirrored, central, one or default. A batch is that of one replica, so that two replicas take 20
// examples a step; all strategies print the same numbers.
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
	"slices"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras/estimator"
)

func main() {
	name := flag.String("strategy", "mirrored", "mirrored, central, one or default")
	dir := flag.String("model-dir", "", "folder of the checkpoints; a temporary one that is removed at the end by default")
	flag.Parse()
	if err := run(context.Background(), os.Stdout, *name, *dir); err != nil {
		log.Fatal(err)
	}
}

// newStrategy is the line that changes.
func newStrategy(name string) (distribute.Strategy, error) {
	switch name {
	case "mirrored":
		return distribute.NewMirroredStrategy("cpu:0", "cpu:1")
	case "central":
		return distribute.NewCentralStorageStrategy("cpu:0", "cpu:1")
	case "one":
		return distribute.NewOneDeviceStrategy("cpu:0")
	case "default":
		return distribute.Default(), nil
	}
	return nil, fmt.Errorf("there is no strategy %q; use mirrored, central, one or default", name)
}

// input makes the data of one session.
func input(distribute.InputContext) (data.Dataset, error) {
	one := data.FromTensorSlices(map[string]any{"feats": [][]float32{{1}}}, [][]float32{{1}})
	return one.Repeat(1000).Batch(10, false), nil
}

func run(ctx context.Context, w io.Writer, name, dir string) (err error) {
	strategy, err := newStrategy(name)
	if err != nil {
		return err
	}
	if dir == "" {
		if dir, err = os.MkdirTemp("", "estimator"); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	}
	regressor, err := estimator.NewLinearRegressor(estimator.LinearRegressor{
		FeatureColumns: []estimator.FeatureColumn{estimator.NumericColumn{Key: "feats"}},
		Optimizer:      "SGD",
		Config:         estimator.RunConfig{TrainDistribute: strategy, EvalDistribute: strategy, ModelDir: dir},
	})
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "%v: %d replicas\n", strategy, strategy.NumReplicasInSync())
	if err := regressor.Train(ctx, input, estimator.Steps(10)); err != nil {
		return err
	}
	results, err := regressor.Evaluate(ctx, input, estimator.Steps(10))
	if err != nil {
		return err
	}
	for _, key := range slices.Sorted(maps.Keys(results)) {
		fmt.Fprintf(w, "%-16s %.6f\n", key, results[key])
	}
	for prediction, err := range regressor.Predict(ctx, input) {
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "%-16s %.6f\n", "prediction", prediction["predictions"].Data().([]float32)[0])
		break
	}
	return nil
}
