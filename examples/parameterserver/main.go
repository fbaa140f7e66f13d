// Command parameterserver trains a recommender whose tables are stored on parameter servers: two towers of embeddings,
// for users and items, and a small network that predicts whether a user likes an item. All processes of the job run
// this program.
//
//	go build -o recommend ./examples/parameterserver
//	keras launch --ps 2 --workers 3 -- ./recommend
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/signal"
	"strings"
	"time"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/distribute/collective"
	"github.com/gokeras/gokeras/distribute/parameterserver"
	"github.com/gokeras/gokeras/distribute/partitioners"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/layers"
	"github.com/gokeras/gokeras/losses"
	"github.com/gokeras/gokeras/optimizers"
)

type flags struct {
	users, items, examples int
	epochs, steps, batch   int
	noise                  float64
	synchronous, dynamic   bool
	replicas               int
	deadline               time.Duration
	output                 string
	fit                    []keras.FitOption // for tests
	logBytes               int64             // for tests: after how many a server writes a snapshot
}

func main() {
	var f flags
	flag.IntVar(&f.users, "users", 3000, "users, each a row of a table")
	flag.IntVar(&f.items, "items", 1000, "items, each a row of a table")
	flag.IntVar(&f.examples, "examples", 100000, "examples to learn from")
	flag.IntVar(&f.epochs, "epochs", 5, "epochs")
	flag.IntVar(&f.steps, "steps", 400, "batches of an epoch, of all workers together")
	flag.IntVar(&f.batch, "batch-size", 256, "examples of a batch")
	flag.BoolVar(&f.synchronous, "synchronous", false, "apply the gradients of all workers as one")
	flag.BoolVar(&f.dynamic, "dynamic", false, "the table of users has a row for each one that occurs, instead of -users rows")
	flag.IntVar(&f.replicas, "replicas", 0, "servers that hold each variable, 1 or 2; 0: what keras launch --replicas says")
	flag.Float64Var(&f.noise, "noise", 0, "part of the examples whose label is wrong")
	flag.DurationVar(&f.deadline, "deadline", 0, "silence after which a task counts as lost; 0: 5s")
	flag.StringVar(&f.output, "output", "", "file for the trained model")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, f, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "parameterserver:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, f flags, out io.Writer) error {
	options := parameterserver.Options{
		VariablePartitioner: partitioners.MinSize{MinShardBytes: 64 << 10, MaxShards: 2}, // large tables in two shards
		Consistency:         parameterserver.Consistency{Synchronous: f.synchronous},
		Replicas:            f.replicas,
		Deadline:            f.deadline,
		LogBytes:            f.logBytes,
		Observe:             func(text string) { fmt.Fprintln(os.Stderr, text) },
	}
	if secret := strings.TrimSpace(os.Getenv("KERAS_SECRET")); secret != "" { // keras launch makes one for the job
		options.Security = &collective.Security{Secret: []byte(secret)}
	}
	return parameterserver.RunStrategy(ctx, options, func(ctx context.Context, s *distribute.ParameterServerStrategy) error {
		return train(ctx, f, s, out)
	})
}

func train(ctx context.Context, f flags, s *distribute.ParameterServerStrategy, out io.Writer) error {
	model, err := recommender(f, s)
	if err != nil {
		return err
	}
	if err := model.Compile(keras.CompileConfig{Optimizer: &optimizers.Adam{LearningRate: 0.01}, Loss: &losses.BinaryCrossentropy{FromLogits: true}, Metrics: []string{"accuracy"}}); err != nil {
		return err
	}
	options := append([]keras.FitOption{keras.BatchSize(f.batch), keras.StepsPerEpoch(f.steps), keras.Epochs(f.epochs)}, f.fit...)
	history, err := model.Fit(ctx, examples(f), options...)
	if err != nil || !s.IsCoordinator() {
		return err
	}
	for i, epoch := range history.Epoch {
		fmt.Fprintf(out, "epoch %d: loss %.4f accuracy %.4f\n", epoch+1, history.Logs["loss"][i], history.Logs["accuracy"][i])
	}
	if f.output != "" {
		return model.Save(f.output)
	}
	return nil
}

// recommender compares the vectors of user and item.
func recommender(f flags, s distribute.Strategy) (*keras.Model, error) {
	user := keras.Input(keras.Shape(1), keras.InputName("user"), keras.DType("int32"))
	item := keras.Input(keras.Shape(1), keras.InputName("item"), keras.DType("int32"))
	tower := func(name string, rows int, x *layers.KerasTensor) *layers.KerasTensor {
		table := &layers.Embedding{Name: name, InputDim: rows, OutputDim: 16}
		if f.dynamic && name == "users" {
			table.InputDim, table.Dynamic = 0, true
		}
		return layers.Apply(&layers.Flatten{}, layers.Apply(table, x))
	}
	both := layers.Apply(&layers.Concatenate{}, tower("users", f.users, user), tower("items", f.items, item))
	hidden := layers.Apply(&layers.Dense{Units: 32, Activation: "relu"}, both)
	return keras.NewFunctional(keras.Inputs(user, item), keras.Outputs(layers.Apply(&layers.Dense{Units: 1}, hidden)), distribute.Scope(s), keras.Seed(1))
}

// examples generates pairs of users and items, and whether they match: each has one of three tastes.
func examples(f flags) data.Dataset {
	r := rand.New(rand.NewPCG(1, 2))
	users, items, likes := make([]int32, f.examples), make([]int32, f.examples), make([]float32, f.examples)
	for i := range f.examples {
		users[i], items[i] = int32(r.IntN(f.users)), int32(r.IntN(f.items))
		if users[i]%3 == items[i]%3 != (r.Float64() < f.noise) {
			likes[i] = 1
		}
	}
	return data.Arrays([]data.Array{column(users), column(items)}, column(likes))
}

// column returns a list as an array of shape (examples, 1).
func column[T data.Number](values []T) data.Array {
	return data.Must(data.ArrayOf(values, len(values), 1))
}
