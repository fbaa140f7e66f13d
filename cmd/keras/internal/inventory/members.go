package inventory

import (
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

//go:embed testdata/members.json
var members []byte

// Members lists the methods, properties and arguments of Keras's main classes. Every one has a counterpart or a reason.
func Members(root string) ([]Row, error) {
	var all []string
	if err := json.Unmarshal(members, &all); err != nil {
		return nil, err
	}
	names, err := exported(root)
	if err != nil {
		return nil, err
	}
	var rows []Row
	var wrong []error
	used := map[string]bool{}
	for _, member := range all {
		class, name, _ := strings.Cut(member, ".")
		e, there := memberEntries[member]
		used[member] = there
		if !there {
			e.ours = derivedMember(class, name, names)
		}
		for _, ours := range strings.Split(e.ours, ", ") {
			if plain := strings.TrimSuffix(ours, "()"); e.ours != "" && !names[plain] && !fieldOrInterface[plain] {
				wrong = append(wrong, fmt.Errorf("inventory: %s stands for %s, but there is no such name", ours, member))
			}
		}
		if e.ours == "" && e.difference == "" {
			wrong = append(wrong, fmt.Errorf("inventory: nothing stands for %s, and no reason", member))
		}
		rows = append(rows, Row{Symbol: Symbol{Module: class, Name: name}, Ours: e.ours, Difference: e.difference})
	}
	for member := range memberEntries {
		if !used[member] {
			wrong = append(wrong, fmt.Errorf("inventory: the table has %q, which is no member", member))
		}
	}
	return rows, errors.Join(wrong...)
}

// derivedMember returns the method or the option of the same name.
func derivedMember(class, name string, names map[string]bool) string {
	if method, argument, ok := strings.Cut(strings.TrimSuffix(name, ")"), "("); ok {
		switch argument {
		case "x", "y":
			return "data.Arrays"
		case "sample_weight":
			return "data.SampleWeight()"
		case "filepath":
			return "keras.Model." + camel(method)
		}
		return "keras." + camel(argument) + "()"
	}
	if class == "Callback" {
		return "callbacks.Base." + camel(name)
	}
	return "keras.Model." + camel(name)
}

// fieldOrInterface lists counterparts that are not functions, types or methods of types.
var fieldOrInterface = map[string]bool{
	"CompileConfig.Optimizer": true, "CompileConfig.Loss": true, "CompileConfig.LossWeights": true, "CompileConfig.Metrics": true, "CompileConfig.WeightedMetrics": true,
	"CompileConfig.StepsPerExecution": true, "CompileConfig.TestStep": true, "CompileConfig.TrainStep": true,
}

const (
	noGraph   = "steps are compiled always"
	stateless = "JAX only; a step is traced as a function of the variables, see Step"
	inTypes   = "the method of your own type"
	whole     = "written and read by Save and LoadModel"
)

// memberEntries names counterparts that derivedMember does not find, or says why there is none.
var memberEntries = map[string]entry{
	"Model.compile(optimizer)":               {"CompileConfig.Optimizer", ""},
	"Model.compile(loss)":                    {"CompileConfig.Loss", ""},
	"Model.compile(loss_weights)":            {"CompileConfig.LossWeights", ""},
	"Model.compile(metrics)":                 {"CompileConfig.Metrics", ""},
	"Model.compile(weighted_metrics)":        {"CompileConfig.WeightedMetrics", ""},
	"Model.compile(steps_per_execution)":     {"CompileConfig.StepsPerExecution", ""},
	"Model.compile(run_eagerly)":             {"", noGraph + "; CheckNumerics finds NaN"},
	"Model.compile(jit_compile)":             {"", noGraph},
	"Model.compile(auto_scale_loss)":         {"optimizers.WithLossScale", "with mixed_float16, unless the optimizer scales already"},
	"Model.compile_from_config":              {"keras.LoadModel", ""},
	"Model.get_compile_config":               {"keras.Model.ToJSON", ""},
	"Model.compute_loss":                     {"keras.Step.ComputeLoss", ""},
	"Model.compute_loss_and_updates":         {"", stateless},
	"Model.compute_metrics":                  {"keras.Step.ComputeMetrics", ""},
	"Model.evaluate(return_dict)":            {"keras.Model.Evaluate", "always a map"},
	"Model.test_on_batch(return_dict)":       {"keras.Model.TestOnBatch", "always a map"},
	"Model.train_on_batch(return_dict)":      {"keras.Model.TrainOnBatch", "always a map"},
	"Model.export(format)":                   {"keras.Model.Export", "ONNX"},
	"Model.export(verbose)":                  {"", "nothing is printed"},
	"Model.export(input_signature)":          {"keras.ExportBatch()", "shapes are those of the inputs"},
	"Model.fit(validation_freq)":             {"keras.ValidationFrequency(), keras.ValidationEpochs()", ""},
	"Model.get_layer(name)":                  {"keras.Model.GetLayer", ""},
	"Model.get_layer(index)":                 {"keras.Model.Layers", "an index of its result"},
	"Model.get_metrics_result":               {"callbacks.Logs", "callbacks are given the results; Fit and Evaluate return them"},
	"Model.get_quantization_layer_structure": {"", "GPTQ finds the order of layers by itself"},
	"Model.get_state_tree":                   {"keras.Model.SaveBackup", "as a file; GetWeights and OptimizerArrays give the arrays"},
	"Model.set_state_tree":                   {"keras.Model.LoadBackup", "as a file; SetWeights and SetOptimizerArrays take the arrays"},
	"Model.input_shape":                      {"keras.Model.Inputs", "their Shape"},
	"Model.output_shape":                     {"keras.Model.Outputs", "their Shape"},
	"Model.jax_state_sync":                   {"", stateless},
	"Model.jit_compile":                      {"", noGraph},
	"Model.run_eagerly":                      {"", noGraph},
	"Model.load_weights(skip_mismatch)":      {"keras.SkipMismatch()", ""},
	"Model.make_predict_function":            {"", noGraph},
	"Model.make_test_function":               {"", noGraph},
	"Model.make_train_function":              {"keras.Model.TrainingProgram", ""},
	"Model.metrics_names":                    {"callbacks.Logs.Names", "of the logs of EvaluateLogs"},
	"Model.predict_step":                     {"keras.NewModel", "of a type with another Call around the model, see steps.md"},
	"Model.reset_metrics":                    {"", "every call and every epoch begins with empty metrics"},
	"Model.save(overwrite)":                  {"", "files are replaced, whole or not at all"},
	"Model.save_weights(overwrite)":          {"", "files are replaced, whole or not at all"},
	"Model.save(zipped)":                     {"keras.AsFolder()", ""},
	"Model.save_weights(max_shard_size)":     {"keras.Model.SaveShardedWeights", ""},
	"Model.stateless_compute_loss":           {"", stateless},
	"Model.summary(positions)":               {"", "columns are as wide as they need to be"},
	"Model.summary(print_fn)":                {"keras.SummaryOutput()", ""},
	"Model.summary(layer_range)":             {"", "nothing prints a part; Layers has the layers"},
	"Model.test_step":                        {"keras.TestStepper, CompileConfig.TestStep", ""},
	"Model.train_step":                       {"keras.TrainStepper, CompileConfig.TrainStep", ""},
	"Model.to_json":                          {"keras.Model.ToJSON", ""},

	"Layer.add_loss":                        {"layers.Context", "its AddLoss"},
	"Layer.add_metric":                      {"", "a metric in the logs of a step of your own, see steps.md"},
	"Layer.add_variable":                    {"layers.Builder.AddWeight", ""},
	"Layer.add_weight":                      {"layers.Builder.AddWeight", ""},
	"Layer.build":                           {"layers.Builder", inTypes + " Build"},
	"Layer.build_from_config":               {"", whole},
	"Layer.get_build_config":                {"", whole},
	"Layer.compute_dtype":                   {"layers.Context", "inputs of Forward have it"},
	"Layer.compute_mask":                    {"", inTypes + " ComputeMask"},
	"Layer.compute_output_shape":            {"layers.InferTypes", "traced"},
	"Layer.count_params":                    {"keras.Model.CountParams", "of a layer: the sizes of layers.OwnWeights"},
	"Layer.dtype":                           {"", "the field DType of each layer"},
	"Layer.dtype_policy":                    {"", "the field DType of each layer"},
	"Layer.input_dtype":                     {"", "what the layer is called with"},
	"Layer.input_spec":                      {"", "Build and Forward fail with Builder.Fail and ops.Failf"},
	"Layer.load_own_variables":              {"keras.Model.LoadWeights", ""},
	"Layer.save_own_variables":              {"keras.Model.SaveWeights", ""},
	"Layer.get_weights":                     {"keras.Model.GetLayerWeights, keras.Model.GetWeights", ""},
	"Layer.set_weights":                     {"keras.Model.SetLayerWeights, keras.Model.SetWeights", ""},
	"Layer.losses":                          {"keras.Step.AddedLosses", ""},
	"Layer.metrics":                         {"", "metrics belong to Compile and to steps"},
	"Layer.metrics_variables":               {"", "metrics belong to Compile and to steps"},
	"Layer.non_trainable_weights":           {"layers.NonTrainableWeights", ""},
	"Layer.path":                            {"layers.Base.Path", ""},
	"Layer.quantization_mode":               {"layers.QuantizedBy", ""},
	"Layer.quantize":                        {"keras.Model.Quantize", "with a filter"},
	"Layer.quantized_build":                 {"", "Quantize does it"},
	"Layer.stateless_call":                  {"", stateless},
	"Layer.supports_masking":                {"", inTypes + " SupportsMasking"},
	"Layer.trainable":                       {"layers.SetTrainable, layers.Base.Trainable", "and the field Frozen"},
	"Layer.trainable_weights":               {"layers.TrainableWeights", ""},
	"Layer.variable_dtype":                  {"distribute.Variable", "its Type"},
	"Layer.variables":                       {"layers.OwnWeights", ""},
	"Layer.non_trainable_variables":         {"keras.Model.NonTrainableVariables", ""},
	"Layer.trainable_variables":             {"keras.Model.TrainableVariables", ""},
	"Optimizer.add_optimizer_variables":     {"optimizers.Slot", "what the method Slots returns"},
	"Optimizer.add_variable":                {"optimizers.Slot", "what the method Slots returns"},
	"Optimizer.add_variable_from_reference": {"optimizers.Slot", "what the method Slots returns"},
	"Optimizer.apply":                       {"optimizers.Base.ApplyRule", ""},
	"Optimizer.apply_gradients":             {"optimizers.Base.ApplyRule", ""},
	"Optimizer.assign":                      {"", "Update returns the new values"},
	"Optimizer.assign_add":                  {"", "Update returns the new values"},
	"Optimizer.assign_sub":                  {"", "Update returns the new values"},
	"Optimizer.build":                       {"optimizers.Base.BuildRule", ""},
	"Optimizer.exclude_from_weight_decay":   {"optimizers.Base.ExcludeFromWeightDecay", ""},
	"Optimizer.finalize_variable_values":    {"optimizers.Base.FinalizeVariables", ""},
	"Optimizer.iterations":                  {"optimizers.Base.Iterations", ""},
	"Optimizer.learning_rate":               {"optimizers.Base.Rate, optimizers.Base.SetLearningRate", ""},
	"Optimizer.load_own_variables":          {"keras.Model.LoadWeights", ""},
	"Optimizer.save_own_variables":          {"keras.Model.SaveWeights", ""},
	"Optimizer.scale_loss":                  {"optimizers.Base.ScaleLoss", ""},
	"Optimizer.set_weights":                 {"keras.Model.SetOptimizerArrays", ""},
	"Optimizer.stateless_apply":             {"", stateless},
	"Optimizer.update_step":                 {"optimizers.Rule", inTypes + " Update"},
	"Optimizer.variables":                   {"optimizers.Base.Variables", ""},
	"Metric.add_variable":                   {"metrics.Base.Add", ""},
	"Metric.add_weight":                     {"metrics.Base.Add", ""},
	"Metric.dtype":                          {"metrics.Base.DTypeOf", ""},
	"Metric.reset_state":                    {"", "every call and every epoch begins with empty metrics"},
	"Metric.result":                         {"metrics.Metric", inTypes + " Result"},
	"Metric.update_state":                   {"metrics.Metric", inTypes + " Update"},
	"Metric.stateless_reset_state":          {"", stateless},
	"Metric.stateless_result":               {"", stateless},
	"Metric.stateless_update_state":         {"", stateless},
	"Metric.variables":                      {"metrics.Base.Variables", ""},
	"Callback.model":                        {"callbacks.Base.Model", ""},
	"Callback.on_batch_begin":               {"callbacks.Base.OnTrainBatchBegin", ""},
	"Callback.on_batch_end":                 {"callbacks.Base.OnTrainBatchEnd", ""},
}
