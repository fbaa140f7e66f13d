package main

import (
	"context"
	"fmt"
	"io"

	"github.com/gokeras/gokeras/callbacks"
	"github.com/gokeras/gokeras/data/datasets"
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/losses"
	"github.com/gokeras/gokeras/metrics"
	"github.com/gokeras/gokeras/optimizers"
)

// trainWithLoop trains with a custom loop: the step is traced once and replayed on every replica.
func trainWithLoop(ctx context.Context, f flags, w io.Writer, model *keras.Model, digits *datasets.Images) (*keras.History, float64, error) {
	strategy := model.Strategy()
	loss := &losses.SparseCategoricalCrossentropy{FromLogits: true}
	accuracy := &metrics.SparseCategoricalAccuracy{}
	optimizer := &optimizers.Adam{LearningRate: learningRate(f, digits)}
	variables := model.TrainableVariables()
	if err := optimizer.Build(variables); err != nil {
		return nil, 0, err
	}
	train := strategy.Function(func(r *distribute.Replica, in distribute.Batch) *ops.Tensor {
		tape := ops.NewTape(r)
		perExample := loss.PerExample(in.Y, model.Call(r.Training(), in.X))
		average := losses.ComputeAverage(perExample, r.GlobalBatchSize())
		optimizer.Apply(r, tape.Gradients(average, variables)) // sums over replicas, then updates
		return average
	})
	test := strategy.Function(func(r *distribute.Replica, in distribute.Batch) *ops.Tensor {
		accuracy.Update(in.Y, model.Call(r.Inference(), in.X), nil)
		return nil
	})

	images := digits.Train.Arrays().Loader(f.batchSize, true, f.seed)
	history := &keras.History{}
	if err := history.OnTrainBegin(); err != nil {
		return nil, 0, err
	}
	for epoch := range f.epochs {
		sum, steps := 0.0, 0
		for batch, err := range keras.DistributeDataset(strategy, images).Batches(ctx, epoch) {
			if err != nil {
				return nil, 0, err
			}
			perReplica, err := strategy.Run(ctx, train, batch)
			if err != nil {
				return nil, 0, err
			}
			total, err := strategy.Reduce(distribute.Sum, perReplica)
			if err != nil {
				return nil, 0, err
			}
			sum, steps = sum+total.Element(0), steps+1
		}
		score, err := measure(ctx, strategy, test, accuracy, digits)
		if err != nil {
			return nil, 0, err
		}
		fmt.Fprintf(w, "epoch %d/%d - loss: %.4f - val_accuracy: %.4f\n", epoch+1, f.epochs, sum/float64(steps), score)
		logs := callbacks.NewLogs(nil)
		logs.Set("loss", sum/float64(steps))
		logs.Set("val_accuracy", score)
		if err := history.OnEpochEnd(epoch, logs); err != nil {
			return nil, 0, err
		}
	}
	score, _ := history.Last("val_accuracy")
	return history, score, nil
}

// measure returns the accuracy on the test images.
func measure(ctx context.Context, strategy distribute.Strategy, test *distribute.Function, accuracy metrics.Metric, digits *datasets.Images) (float64, error) {
	if err := metrics.Reset(accuracy); err != nil {
		return 0, err
	}
	for batch, err := range keras.DistributeDataset(strategy, digits.Test.Arrays().Loader(256, false, 0)).Batches(ctx, 0) {
		if err != nil {
			return 0, err
		}
		if _, err := strategy.Run(ctx, test, batch); err != nil {
			return 0, err
		}
	}
	result, err := metrics.ResultOf(accuracy)
	if err != nil {
		return 0, err
	}
	return result.Element(0), nil
}
