// Command multiworker trains one model with several processes, on one or many machines. Every worker runs this program;
// README.md beside it shows how to start them by hand, under Slurm and under Kubernetes.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"os"
	"os/signal"
	"syscall"

	"github.com/gokeras/gokeras/callbacks"
	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/distribute/cluster"
	"github.com/gokeras/gokeras/distribute/collective"
	"github.com/gokeras/gokeras/distribute/multiworker"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/layers"
)

// secretVariable holds a secret that all workers share. Outside the loopback interface they prove with it that they
// belong together.
const secretVariable = "KERAS_SECRET"

func main() {
	from := flag.String("cluster", "tfconfig", "where the cluster is read from: tfconfig, slurm or kubernetes")
	backup := flag.String("backup", "", "folder of the chief from which an interrupted run goes on")
	epochs := flag.Int("epochs", 20, "number of epochs")
	port := flag.Int("port", 0, "port of this worker under Kubernetes, first port of a node under Slurm; 0 is the resolver's own")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Stdout, *from, *backup, *epochs, *port); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, out io.Writer, from, backup string, epochs, port int) error {
	resolvers := map[string]cluster.Resolver{"tfconfig": &cluster.TFConfig{}, "slurm": &cluster.Slurm{PortBase: port}, "kubernetes": &cluster.Kubernetes{Port: port}}
	options := multiworker.Options{Resolver: resolvers[from]}
	if options.Resolver == nil {
		return fmt.Errorf("the cluster %q is unknown; use tfconfig, slurm or kubernetes", from)
	}
	if secret := os.Getenv(secretVariable); secret != "" {
		options.Security = &collective.Security{Secret: []byte(secret)}
	}
	strategy, err := multiworker.NewStrategy(ctx, options) // waits for the others
	if err != nil {
		return err
	}
	defer strategy.Close()

	model, err := keras.NewSequential([]layers.Layer{
		&layers.Dense{Units: 32, Activation: "relu"},
		&layers.Dense{Units: 1},
	}, keras.InputShape(2), distribute.Scope(strategy))
	if err != nil {
		return err
	}
	if err := model.Compile(keras.CompileConfig{Optimizer: "adam", Loss: "mse"}); err != nil {
		return err
	}
	var list []callbacks.Callback
	if backup != "" {
		list = append(list, &callbacks.BackupAndRestore{BackupDir: backup})
	}
	x, y := examples(2000)
	history, err := model.Fit(ctx, data.Arrays(x, y), keras.BatchSize(64), keras.Epochs(epochs), keras.Callbacks(list...))
	if err != nil {
		return err // names the worker that was lost, or what the workers disagree about
	}
	if losses := history.Logs["loss"]; strategy.IsChief() && len(losses) > 0 {
		fmt.Fprintf(out, "%d workers, %d replicas: loss %.4f after the first epoch, %.4f after the last\n",
			strategy.Workers(), strategy.NumReplicasInSync(), losses[0], losses[len(losses)-1])
	}
	return nil
}

// examples makes n examples of y = x₀·x₁ + noise. Every worker generates the same examples, and trains on its part of
// each batch.
func examples(n int) (x [][]float32, y []float32) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range n {
		a, b := 2*rng.Float32()-1, 2*rng.Float32()-1
		x, y = append(x, []float32{a, b}), append(y, a*b+0.01*float32(rng.NormFloat64()))
	}
	return x, y
}
