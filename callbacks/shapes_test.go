package callbacks_test

import "encoding/json"

// historyCase is which lists a real run records.
type historyCase struct {
	Options struct {
		Epochs         int             `json:"epochs"`
		InitialEpoch   int             `json:"initial_epoch"`
		ValidationFreq json.RawMessage `json:"validation_freq"`
	}
	Scheduler bool
	Epoch     []int
	Lengths   map[string]int
}

// hooksCase is the hooks of a real run.
type hooksCase struct {
	Method            string
	Options           runOptions
	StepsPerExecution int `json:"steps_per_execution"`
	Calls             []hookCall
}

type hookCall struct {
	hook  string
	index *int
	names []string
}

func (c *hookCall) UnmarshalJSON(text []byte) error {
	return tuple(text, &c.hook, &c.index, &c.names)
}

// runCase is what a real run prints.
type runCase struct {
	Name     string
	Method   string
	Terminal bool
	Verbose  int
	Options  runOptions
	Text     string
}

type runOptions struct {
	Epochs          int     `json:"epochs"`
	BatchSize       int     `json:"batch_size"`
	ValidationSplit float64 `json:"validation_split"`
	ValidationFreq  int     `json:"validation_freq"`
	InitialEpoch    int     `json:"initial_epoch"`
	StepsPerEpoch   int     `json:"steps_per_epoch"`
}
