// Package distillation trains a small model, the student, on the outputs of a large one, the teacher:
// keras.distillation.
//
//	model, err := distillation.New(distillation.Distiller{
//		Teacher: teacher, Student: student,
//		Losses:  []distillation.Loss{&distillation.LogitsDistillation{Temperature: 4}},
//	})
//	...
//	err = model.Compile(keras.CompileConfig{Optimizer: "adam", Loss: &losses.SparseCategoricalCrossentropy{FromLogits: true}, Metrics: "accuracy"})
//	_, err = model.Fit(ctx, examples, keras.Epochs(5))
//	err = student.Save("student.keras")
//
// The loss of a step is
//
//	w · (loss of Compile) + (1 - w) · Σ LossWeights[i] · Losses[i]
//
// with w the StudentLossWeight. [LogitsDistillation] compares outputs, and [FeatureDistillation] the results of inner
// layers. Any type with a ComputeLoss method can be used too.
package distillation
