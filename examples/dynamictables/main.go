// Command dynamictables trains a two-tower recommender on generated clicks. Users and items are strings whose number is
// not known in advance: dynamic embeddings create rows for them as they appear, in this process or on parameter
// servers:
//
//	go run ./examples/dynamictables
//	keras launch --ps 2 --workers 2 -- ./dynamictables
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"os"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/distribute/parameterserver"
	_ "github.com/gokeras/gokeras/distribute/tables/disk" // for MemoryBytes
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/layers"
	"github.com/gokeras/gokeras/optimizers"
)

func main() {
	ctx := context.Background()
	var err error
	if os.Getenv("TF_CONFIG") != "" {
		err = parameterserver.RunStrategy(ctx, parameterserver.Options{TableMemory: 64 << 20}, func(ctx context.Context, s *distribute.ParameterServerStrategy) error {
			return train(ctx, os.Stdout, 20_000, keras.StepsPerEpoch(300), s)
		})
	} else {
		err = train(ctx, os.Stdout, 20_000, nil, nil)
	}
	if err != nil {
		log.Fatal(err)
	}
}

// tower computes the vector of a user or an item from its name.
func tower(name string) (in, out *layers.KerasTensor, rows *layers.Embedding) {
	in = keras.Input(keras.Shape(1), keras.DType("string"), keras.InputName(name))
	rows = &layers.Embedding{Name: name + "_rows", OutputDim: 8, Dynamic: true, MaxRows: 1 << 20, MemoryBytes: 64 << 20}
	return in, layers.Apply(&layers.Dense{Units: 8}, layers.Apply(&layers.Flatten{}, layers.Apply(rows, in))), rows
}

// clicks returns n impressions: users like items of their own kind. Some users and items occur only once.
func clicks(n int) (users, items [][]string, clicked [][]float32) {
	r := rand.New(rand.NewPCG(1, 1))
	for range n {
		user, item := int(1000*r.Float64()*r.Float64()), int(400*r.Float64()*r.Float64())
		y := float32(0)
		if (user%4 == item%4) != (r.IntN(20) == 0) {
			y = 1
		}
		users, items, clicked = append(users, []string{fmt.Sprint("user:", user)}), append(items, []string{fmt.Sprint("item:", item)}), append(clicked, []float32{y})
	}
	return users, items, clicked
}

func train(ctx context.Context, out io.Writer, n int, steps keras.FitOption, s *distribute.ParameterServerStrategy) error {
	user, userVector, userRows := tower("user")
	item, itemVector, itemRows := tower("item")
	score := layers.Apply(&layers.Activation{Activation: "sigmoid"}, layers.Apply(&layers.Dot{Axes: []int{1, 1}}, userVector, itemVector))
	options := []keras.Option{keras.Seed(1)}
	if s != nil {
		options = append(options, distribute.Scope(s))
	}
	model, err := keras.NewFunctional(keras.Inputs(user, item), keras.Outputs(score), options...)
	if err != nil {
		return err
	}
	if err := model.Compile(keras.CompileConfig{Optimizer: &optimizers.Adam{LearningRate: 0.01}, Loss: "binary_crossentropy", Metrics: []string{"accuracy"}}); err != nil {
		return err
	}
	users, items, clicked := clicks(n)
	fit := []keras.FitOption{keras.BatchSize(64), keras.Epochs(4)}
	if steps != nil {
		fit = append(fit, steps)
	}
	history, err := model.Fit(ctx, data.Arrays([]any{users, items}, clicked), fit...)
	if err != nil || s != nil && !s.Job().Coordinates() {
		return err
	}
	accuracy, _ := history.Last("accuracy")
	fmt.Fprintf(out, "accuracy %.2f with %d users and %d items\n", accuracy, userRows.Table().Stats().Rows, itemRows.Table().Stats().Rows)
	stranger, err := model.PredictRows(ctx, data.Arrays([]any{[][]string{{"user:new"}}, items[:1]}, nil))
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "a user whom nobody knows: %.2f\n", stranger[0][0])
	return nil
}
