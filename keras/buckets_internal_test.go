package keras

import "strings"

// SharesPrograms reports whether batches of several sizes share programs when the model predicts.
func SharesPrograms(m *Model) bool { return m.rowWise(m.inputTypes) }

// PredictPrograms counts the programs that predictions of the model have been compiled to.
func PredictPrograms(m *Model) int {
	return strings.Count(m.predict.Programs(), "program predict_step(")
}
