package keras

import "strings"

// SharesPrograms reports whether batches of several sizes share programs when the model predicts.
func SharesPrograms(m *Model) bool { return m.rowWise(m.inputTypes) }

// EvaluationPrograms counts the programs compiled for test steps, and those among them that exclude rows.
func EvaluationPrograms(m *Model) (all, filled int) {
	text := m.compiled.test.Programs()
	return strings.Count(text, "program test_step("), strings.Count(text, " rows int32")
}

// PredictPrograms counts the programs compiled for the model's predictions.
func PredictPrograms(m *Model) int {
	return strings.Count(m.predict.Programs(), "program predict_step(")
}

// TrainingPrograms counts the programs compiled for training steps.
func TrainingPrograms(m *Model) int {
	return strings.Count(m.compiled.train.Programs(), "program train_step(")
}
