package callbacks_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/gokeras/gokeras/callbacks"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/optimizers"
)

func ExampleTensorBoard() {
	dir, err := os.MkdirTemp("", "logs")
	check(err)
	defer os.RemoveAll(dir)
	model, examples := line(&optimizers.SGD{LearningRate: 0.1})
	board := &callbacks.TensorBoard{LogDir: filepath.Join(dir, "run1"), HistogramFreq: 1}
	_, err = model.Fit(context.Background(), examples, keras.Epochs(2), keras.ValidationData(examples), keras.Callbacks(board))
	check(err)
	folders, err := os.ReadDir(board.LogDir)
	check(err)
	for _, f := range folders { // each has an event file; look at them with: tensorboard --logdir <dir>
		fmt.Println(f.Name())
	}
	// Output:
	// train
	// validation
}
