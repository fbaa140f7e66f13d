package callbacks_test

import (
	"fmt"

	"github.com/gokeras/gokeras/callbacks"
)

// announcer says where a run begins and what each epoch brought.
type announcer struct{ callbacks.Base }

func (a *announcer) OnEpochEnd(epoch int, logs *callbacks.Logs) error {
	loss, _ := logs.Get("loss")
	fmt.Printf("epoch %d: %.2f\n", epoch, loss)
	return nil
}

// A custom callback embeds Base and overrides the hooks it needs.
func ExampleCallback() {
	var c callbacks.Callback = &announcer{}
	c.SetParams(callbacks.Params{Epochs: 1})
	_ = c.OnTrainBegin()
	_ = c.OnEpochEnd(0, callbacks.NewLogs(func(l *callbacks.Logs) error {
		l.Set("loss", 0.25)
		return nil
	}))
	// Output: epoch 0: 0.25
}
