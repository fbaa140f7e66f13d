package estimator

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/internal/config"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/keras/ops/objectives"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/losses"
	"github.com/gokeras/gokeras/metrics"
)

// ModelToEstimator makes an estimator from a compiled Keras model with one output:
// tf.keras.estimator.model_to_estimator. Training begins with the model's current weights; the model itself does not
// change. Features are passed to the model's inputs by name, or in order if they have no names.
//
// Loss, regularization and metrics are those of the model. The gradient is that of the mean over the examples of all
// replicas, so it is exact even if batches differ in size. Evaluate returns the metrics by name, "loss" and
// "global_step"; Predict yields the output under the name of the model's output.
func ModelToEstimator(model *keras.Model, config RunConfig) (*Estimator, error) {
	fail := func(err error) (*Estimator, error) { return nil, fmt.Errorf("estimator: ModelToEstimator: %w", err) }
	if model == nil {
		return fail(errors.New("the model is nil"))
	}
	if model.Optimizer() == nil {
		return fail(errors.New("the model has no optimizer; compile it first"))
	}
	document, err := model.ToJSON()
	if err != nil {
		return fail(err)
	}
	source := &modelSource{document: document}
	if source.weights, err = model.GetWeights(); err != nil {
		return fail(err)
	}
	if len(source.weights) == 0 {
		return fail(errors.New("the model has no weights yet; build it first, with InputShape or Build"))
	}
	if names := model.OutputNames(); len(names) > 1 {
		return fail(fmt.Errorf("the model has the outputs %q; expected one", names))
	}
	if source.loss, source.metrics, err = compiled(document); err != nil {
		return fail(err)
	}
	return New(source.modelFn, config, nil)
}

// modelSource is what each session creates its model from.
type modelSource struct {
	document []byte
	weights  []kernels.Array
	loss     any
	metrics  []any
}

// compiled reads the loss and metrics from a model's document.
func compiled(document []byte) (loss any, list []any, err error) {
	var d struct {
		Compile struct {
			Loss     json.RawMessage `json:"loss"`
			Metrics  json.RawMessage `json:"metrics"`
			Weighted json.RawMessage `json:"weighted_metrics"`
		} `json:"compile_config"`
	}
	if err := json.Unmarshal(document, &d); err != nil {
		return nil, nil, err
	}
	found, err := values(d.Compile.Loss)
	if err != nil || len(found) != 1 {
		return nil, nil, fmt.Errorf("the model is compiled with %d losses; expected one (%w)", len(found), errors.Join(err, errNoLoss))
	}
	for _, raw := range []json.RawMessage{d.Compile.Metrics, d.Compile.Weighted} {
		more, err := values(raw)
		if err != nil {
			return nil, nil, err
		}
		list = append(list, more...)
	}
	return found[0], list, nil
}

var errNoLoss = errors.New("set CompileConfig.Loss")

// values lists the names and objects in a value, which may be a list, or lists and dictionaries of them for several
// outputs.
func values(raw json.RawMessage) ([]any, error) {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || string(raw) == "null" {
		return nil, nil
	}
	var parts []json.RawMessage
	switch raw[0] {
	case '"':
		var name string
		err := json.Unmarshal(raw, &name)
		return []any{name}, err
	case '[':
		if err := json.Unmarshal(raw, &parts); err != nil {
			return nil, err
		}
	case '{':
		var dict map[string]json.RawMessage
		if err := json.Unmarshal(raw, &dict); err != nil {
			return nil, err
		}
		if _, ok := dict["class_name"]; ok {
			o, err := config.ParseObject(raw)
			return []any{o}, err
		}
		for _, v := range dict {
			parts = append(parts, v)
		}
		if len(parts) > 1 {
			return nil, errors.New("losses and metrics by the names of several outputs are too many for a model with one")
		}
	default:
		return nil, fmt.Errorf("%s is no name and no object of a loss or metric", raw)
	}
	var out []any
	for _, p := range parts {
		more, err := values(p)
		if err != nil {
			return nil, err
		}
		out = append(out, more...)
	}
	return out, nil
}

// model creates the session's model.
func (m *modelSource) model(c *Context, inputs []*ops.Tensor) (*keras.Model, error) {
	return Once(c, "model", func() (*keras.Model, error) {
		model, err := keras.ModelFromJSON(m.document, distribute.Scope(c.Strategy()), keras.Seed(c.Seed()))
		if err != nil {
			return nil, err
		}
		if len(model.Weights()) != len(m.weights) {
			shapes := make([][]int, len(inputs))
			for i, x := range inputs {
				shapes[i] = append([]int{-1}, x.Shape()[1:]...)
			}
			if err := model.Build(shapes...); err != nil {
				return nil, err
			}
		}
		return model, model.SetWeights(m.weights)
	})
}

func (m *modelSource) modelFn(c *Context, features Features, labels *ops.Tensor, mode ModeKey, _ Params) (EstimatorSpec, error) {
	spec := EstimatorSpec{Mode: mode}
	model, err := m.model(c, features.Tensors)
	if err != nil {
		return spec, err
	}
	inputs, err := modelInputs(model, features)
	if err != nil {
		return spec, err
	}
	y := model.Call(c.Layers(), inputs...)
	spec.Predictions = map[string]*ops.Tensor{outputName(model): y}
	if mode == PREDICT {
		return spec, nil
	}
	if labels == nil {
		return spec, errors.New("the input function gave no labels")
	}
	l, err := losses.Resolve(m.loss, labels.Shape(), y.Shape())
	if err != nil {
		return spec, err
	}
	objectives.NoFilling(c, c, "an estimator")
	part := ops.Add(ops.Cast(losses.Compute(l, labels, y, nil), ir.Float32), penalties(c, model))
	spec.Loss = part
	if local := c.LocalBatchSize(); local > 0 {
		spec.Loss = ops.MultiplyScalar(part, float64(c.GlobalBatchSize())/float64(local))
	}
	if mode == TRAIN {
		spec.TrainOp = c.minimizeShare(model.Optimizer(), part, model.TrainableVariables())
		return spec, nil
	}
	spec.EvalMetricOps = map[string]MetricOp{}
	for _, v := range m.metrics {
		metric, err := metrics.Resolve(v, labels.Shape(), y.Shape())
		if err != nil {
			return spec, err
		}
		name, ok := v.(string)
		if !ok {
			name = metric.MetricName()
		}
		spec.EvalMetricOps[name] = MetricOp{Metric: metric, Labels: labels, Predictions: y}
	}
	return spec, nil
}

// penalties returns this replica's share of the regularization and of losses that layers added.
func penalties(c *Context, model *keras.Model) *ops.Tensor {
	share := 1.0
	if n := c.GlobalBatchSize(); n > 0 {
		share = float64(c.LocalBatchSize()) / float64(n)
	}
	total := ops.Zeros(c, ir.Float32)
	for _, v := range model.TrainableVariables() {
		if f := v.Spec().Regularizer; f != nil {
			total = ops.Add(total, ops.MultiplyScalar(ops.Cast(f(c.Read(v)), ir.Float32), share))
		}
	}
	for _, loss := range c.Losses() {
		total = ops.Add(total, ops.MultiplyScalar(ops.Cast(loss, ir.Float32), share))
	}
	return total
}

// modelInputs puts features into the order of the model's inputs.
func modelInputs(model *keras.Model, features Features) ([]*ops.Tensor, error) {
	declared := model.Inputs()
	if features.Names == nil || len(declared) == 0 || len(features.Names) == 1 && len(declared) == 1 {
		return features.Tensors, nil
	}
	inputs := make([]*ops.Tensor, len(declared))
	for i, input := range declared {
		if inputs[i] = features.Get(input.Name()); inputs[i] == nil {
			return nil, fmt.Errorf("the model's input %q is not among the features %q", input.Name(), slices.Sorted(slices.Values(features.Names)))
		}
	}
	return inputs, nil
}

// outputName returns the name of the predictions.
func outputName(model *keras.Model) string {
	if names := model.OutputNames(); len(names) == 1 {
		return names[0]
	}
	list := model.Layers()
	if len(list) == 0 {
		return "output"
	}
	named, ok := list[len(list)-1].(interface{ Path() string })
	if !ok {
		return "output"
	}
	return named.Path()
}
