package keras

// Which function takes an option is a matter of types: an option that several functions take has the methods of each.

// FitOption is an option of [Model.Fit].
type FitOption interface{ applyFit(*fitConfig) }

// EvaluateOption is an option of [Model.Evaluate] and [Model.EvaluateLogs].
type EvaluateOption interface{ applyEvaluate(*fitConfig) }

// PredictOption is an option of [Model.Predict], [Model.PredictRows] and [Model.PredictAll].
type PredictOption interface{ applyPredict(*fitConfig) }

// TrainOnBatchOption is an option of [Model.TrainOnBatch].
type TrainOnBatchOption interface{ applyTrainOnBatch(*fitConfig) }

// TestOnBatchOption is an option of [Model.TestOnBatch].
type TestOnBatchOption interface{ applyTestOnBatch(*fitConfig) }

// LoopOption is an option of Fit, Evaluate and Predict.
type LoopOption interface {
	FitOption
	EvaluateOption
	PredictOption
}

// PassOption is an option of Evaluate and Predict, which traverse the data once.
type PassOption interface {
	EvaluateOption
	PredictOption
}

// TrainOption is an option of Fit and TrainOnBatch.
type TrainOption interface {
	FitOption
	TrainOnBatchOption
}

// CallOption is an option of Fit, Evaluate, Predict, TrainOnBatch and TestOnBatch.
type CallOption interface {
	LoopOption
	TrainOnBatchOption
	TestOnBatchOption
}

type (
	fitOption   func(*fitConfig)
	passOption  func(*fitConfig)
	loopOption  func(*fitConfig)
	trainOption func(*fitConfig)
	callOption  func(*fitConfig)
)

func (o fitOption) applyFit(c *fitConfig) { o(c) }

func (o passOption) applyEvaluate(c *fitConfig) { o(c) }
func (o passOption) applyPredict(c *fitConfig)  { o(c) }

func (o loopOption) applyFit(c *fitConfig)      { o(c) }
func (o loopOption) applyEvaluate(c *fitConfig) { o(c) }
func (o loopOption) applyPredict(c *fitConfig)  { o(c) }

func (o trainOption) applyFit(c *fitConfig)          { o(c) }
func (o trainOption) applyTrainOnBatch(c *fitConfig) { o(c) }

func (o callOption) applyFit(c *fitConfig)          { o(c) }
func (o callOption) applyEvaluate(c *fitConfig)     { o(c) }
func (o callOption) applyPredict(c *fitConfig)      { o(c) }
func (o callOption) applyTrainOnBatch(c *fitConfig) { o(c) }
func (o callOption) applyTestOnBatch(c *fitConfig)  { o(c) }
