package main

import (
	"context"
	"io"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/data/datasets"
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/distribute/cluster"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/keras/estimator"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/layers"
	"github.com/gokeras/gokeras/losses"
	"github.com/gokeras/gokeras/metrics"
	"github.com/gokeras/gokeras/optimizers"
)

// mnist trains the guide's network and evaluates it, here or in the evaluator of the job.
func mnist(ctx context.Context, w io.Writer, strategy distribute.Strategy, f flags) error {
	var source []datasets.Option
	if f.data != "" {
		source = append(source, datasets.Directory(f.data))
	}
	digits, err := datasets.MNIST(source...)
	if err != nil {
		return err
	}
	classifier, err := estimator.New(modelFn, estimator.RunConfig{
		TrainDistribute: strategy, ModelDir: f.dir, SaveCheckpointsSteps: f.every, LogOutput: w, Cluster: &cluster.TFConfig{},
	}, estimator.Params{"learning rate": f.rate, "batch size": float64(f.batch)})
	if err != nil {
		return err
	}
	results, err := estimator.TrainAndEvaluate(ctx, classifier,
		estimator.TrainSpec{InputFn: images(digits.Train, f.batch, true), MaxSteps: &f.steps},
		estimator.EvalSpec{InputFn: images(digits.Test, f.batch, false), AllData: true, StartDelaySecs: new(0), ThrottleSecs: new(1)})
	if err != nil {
		return err
	}
	show(w, results) // workers that train together evaluate nothing: the evaluator does
	return nil
}

// images makes an InputFn of this process's part of the images, scaled; for training it repeats them, each time in a
// new order.
func images(of datasets.Split, batch int, train bool) estimator.InputFn {
	return func(c distribute.InputContext) (data.Dataset, error) {
		all := of.Arrays().Elements()
		if train {
			all = all.Shard(c.NumInputPipelines, c.InputPipelineID).Shuffle(10_000, uint64(c.InputPipelineID)).Repeat(-1)
		}
		return all.Batch(batch, false), nil
	}
}

// modelFn is that of the guide: a convolutional network, its loss over the batch, and gradient descent.
func modelFn(c *estimator.Context, features estimator.Features, labels *ops.Tensor, mode estimator.ModeKey, p estimator.Params) (estimator.EstimatorSpec, error) {
	spec := estimator.EstimatorSpec{Mode: mode}
	model, err := estimator.Once(c, "model", func() (*keras.Model, error) {
		return keras.NewSequential([]layers.Layer{
			&layers.Rescaling{Scale: []float64{1.0 / 255}},
			&layers.Reshape{TargetShape: []int{28, 28, 1}},
			&layers.Conv2D{Filters: 32, KernelSize: []int{3}, Activation: "relu"},
			&layers.MaxPooling2D{},
			&layers.Flatten{},
			&layers.Dense{Units: 64, Activation: "relu"},
			&layers.Dense{Units: 10},
		}, distribute.Scope(c.Strategy()), keras.InputShape(28, 28), keras.Seed(c.Seed()))
	})
	if err != nil {
		return spec, err
	}
	logits := model.Call(c.Layers(), features.First())
	if spec.Predictions = map[string]*ops.Tensor{"logits": logits}; mode == estimator.PREDICT {
		return spec, nil
	}
	perExample := (&losses.SparseCategoricalCrossentropy{FromLogits: true}).PerExample(labels, logits)
	if mode == estimator.EVAL {
		spec.Loss = ops.Mean(perExample)
		spec.EvalMetricOps = map[string]estimator.MetricOp{"accuracy": {Metric: &metrics.SparseCategoricalAccuracy{}, Labels: labels, Predictions: logits}}
		return spec, nil
	}
	spec.Loss = ops.DivideScalar(ops.Sum(perExample), p["batch size"].(float64))
	spec.TrainOp = c.Minimize(&optimizers.SGD{LearningRate: p["learning rate"].(float64)}, spec.Loss, model.TrainableVariables()...)
	return spec, nil
}
