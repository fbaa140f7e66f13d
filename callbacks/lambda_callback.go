package callbacks

// LambdaCallback calls functions at the hooks; nil functions do nothing. Use it for a few lines of code that do not
// justify a type.
type LambdaCallback struct {
	Base
	TrainBegin func() error
	TrainEnd   func(logs *Logs) error

	EpochBegin func(epoch int) error
	EpochEnd   func(epoch int, logs *Logs) error

	TrainBatchBegin func(batch int) error
	TrainBatchEnd   func(batch int, logs *Logs) error

	TestBegin      func() error
	TestEnd        func(logs *Logs) error
	TestBatchBegin func(batch int) error
	TestBatchEnd   func(batch int, logs *Logs) error

	PredictBegin      func() error
	PredictEnd        func() error
	PredictBatchBegin func(batch int) error
	PredictBatchEnd   func(batch int) error
}

func callPlain(f func() error) error {
	if f == nil {
		return nil
	}
	return f()
}

func callIndex(f func(int) error, i int) error {
	if f == nil {
		return nil
	}
	return f(i)
}

func callLogs(f func(*Logs) error, logs *Logs) error {
	if f == nil {
		return nil
	}
	return f(logs)
}

func callBoth(f func(int, *Logs) error, i int, logs *Logs) error {
	if f == nil {
		return nil
	}
	return f(i, logs)
}

// OnTrainBegin calls TrainBegin.
func (c *LambdaCallback) OnTrainBegin() error { return callPlain(c.TrainBegin) }

// OnTrainEnd calls TrainEnd.
func (c *LambdaCallback) OnTrainEnd(logs *Logs) error { return callLogs(c.TrainEnd, logs) }

// OnEpochBegin calls EpochBegin.
func (c *LambdaCallback) OnEpochBegin(epoch int) error { return callIndex(c.EpochBegin, epoch) }

// OnEpochEnd calls EpochEnd.
func (c *LambdaCallback) OnEpochEnd(epoch int, logs *Logs) error {
	return callBoth(c.EpochEnd, epoch, logs)
}

// OnTrainBatchBegin calls TrainBatchBegin.
func (c *LambdaCallback) OnTrainBatchBegin(batch int) error {
	return callIndex(c.TrainBatchBegin, batch)
}

// OnTrainBatchEnd calls TrainBatchEnd.
func (c *LambdaCallback) OnTrainBatchEnd(batch int, logs *Logs) error {
	return callBoth(c.TrainBatchEnd, batch, logs)
}

// OnTestBegin calls TestBegin.
func (c *LambdaCallback) OnTestBegin() error { return callPlain(c.TestBegin) }

// OnTestEnd calls TestEnd.
func (c *LambdaCallback) OnTestEnd(logs *Logs) error { return callLogs(c.TestEnd, logs) }

// OnTestBatchBegin calls TestBatchBegin.
func (c *LambdaCallback) OnTestBatchBegin(batch int) error { return callIndex(c.TestBatchBegin, batch) }

// OnTestBatchEnd calls TestBatchEnd.
func (c *LambdaCallback) OnTestBatchEnd(batch int, logs *Logs) error {
	return callBoth(c.TestBatchEnd, batch, logs)
}

// OnPredictBegin calls PredictBegin.
func (c *LambdaCallback) OnPredictBegin() error { return callPlain(c.PredictBegin) }

// OnPredictEnd calls PredictEnd.
func (c *LambdaCallback) OnPredictEnd() error { return callPlain(c.PredictEnd) }

// OnPredictBatchBegin calls PredictBatchBegin.
func (c *LambdaCallback) OnPredictBatchBegin(batch int) error {
	return callIndex(c.PredictBatchBegin, batch)
}

// OnPredictBatchEnd calls PredictBatchEnd.
func (c *LambdaCallback) OnPredictBatchEnd(batch int) error {
	return callIndex(c.PredictBatchEnd, batch)
}

// WantsBatches reports whether one of the functions belongs to a batch hook.
func (c *LambdaCallback) WantsBatches() bool {
	return c.TrainBatchBegin != nil || c.TrainBatchEnd != nil || c.TestBatchBegin != nil || c.TestBatchEnd != nil ||
		c.PredictBatchBegin != nil || c.PredictBatchEnd != nil
}
