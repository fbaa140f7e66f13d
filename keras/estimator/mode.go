package estimator

// ModeKey says what a [ModelFn] is traced for: tf.estimator.ModeKeys.
type ModeKey string

// The modes.
const (
	TRAIN   ModeKey = "train"
	EVAL    ModeKey = "eval"
	PREDICT ModeKey = "infer" // TensorFlow's own spelling
)
