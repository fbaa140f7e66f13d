// Command custom_loop is the custom training loop of the distributed-training guide: a Dense(1) on 1,000 ones, global
// batches, binary cross-entropy from logits, and a loss that is averaged over the global batch.
//
// The strategy is one line: -strategy mirrored, central, one or default. All of them print the same numbers.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log"
	"os"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/layers"
	"github.com/gokeras/gokeras/losses"
	"github.com/gokeras/gokeras/optimizers"
)

const (
	globalBatch = 10
	rows        = 1000
)

func main() {
	name := flag.String("strategy", "mirrored", "mirrored, central, one or default")
	flag.Parse()
	if err := run(context.Background(), os.Stdout, *name); err != nil {
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

func run(ctx context.Context, w io.Writer, name string) error {
	strategy, err := newStrategy(name)
	if err != nil {
		return err
	}
	model, err := keras.NewSequential([]layers.Layer{&layers.Dense{Units: 1}}, distribute.Scope(strategy), keras.InputShape(1))
	if err != nil {
		return err
	}
	optimizer := &optimizers.SGD{LearningRate: 0.1}
	bce := &losses.BinaryCrossentropy{FromLogits: true}
	step := strategy.Function(func(r *distribute.Replica, in distribute.Batch) *ops.Tensor {
		tape := ops.NewTape(r)
		perExample := bce.PerExample(in.Y, model.Call(r.Training(), in.X))
		loss := losses.ComputeAverage(perExample, globalBatch)
		optimizer.Apply(r, tape.Gradients(loss, model.TrainableVariables())) // sums over the replicas, then updates
		return loss
	})
	ones := make([][]float32, rows)
	for i := range ones {
		ones[i] = []float32{1}
	}
	dataset := keras.DistributeDataset(strategy, data.Arrays(ones, ones).Loader(globalBatch, false, 0))
	fmt.Fprintf(w, "%v: %d replicas\n", strategy, strategy.NumReplicasInSync())
	n := 0
	for batch, err := range dataset.Batches(ctx, 0) {
		if err != nil {
			return err
		}
		perReplica, err := strategy.Run(ctx, step, batch)
		if err != nil {
			return err
		}
		loss, err := strategy.Reduce(distribute.Sum, perReplica)
		if err != nil {
			return err
		}
		if n++; n%20 == 0 {
			fmt.Fprintf(w, "step %3d: loss %.4f\n", n, loss.Element(0))
		}
	}
	return nil
}
