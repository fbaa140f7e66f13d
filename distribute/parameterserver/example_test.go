package parameterserver_test

import (
	"context"
	"fmt"
	"os"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/distribute/cluster"
	"github.com/gokeras/gokeras/distribute/parameterserver"
	"github.com/gokeras/gokeras/distribute/partitioners"
)

// All processes of a job run this, each with its own TF_CONFIG. With Replicas each variable lies on two servers, of
// which one may be lost.
func ExampleRunStrategy() {
	options := parameterserver.Options{
		VariablePartitioner: partitioners.MinSize{MinShardBytes: 256 << 10, MaxShards: 3},
		Replicas:            2,
		Observe:             func(text string) { fmt.Fprintln(os.Stderr, text) },
	}
	err := parameterserver.RunStrategy(context.Background(), options, func(ctx context.Context, s *distribute.ParameterServerStrategy) error {
		return nil // make a model with distribute.Scope(s), and train it
	})
	if err != nil {
		fmt.Println(err)
	}
}

// Before a server gets another machine, the two copies of all variables must be complete.
func ExampleFindCopies() {
	spec, err := cluster.NewSpec(map[string][]string{"worker": {"10.0.0.1:2222"}, "ps": {"10.0.0.2:2222", "10.0.0.3:2222"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	copies, err := parameterserver.FindCopies(context.Background(), parameterserver.Options{Resolver: &cluster.Simple{Cluster: spec}, Replicas: 2})
	if err != nil {
		fmt.Println(err)
		return
	}
	for i, c := range copies {
		fmt.Printf("the variables of ps:%d lie on ps:%d and ps:%d; one of them may be stopped: %v\n", i, c.Primary, c.Backup, c.Complete)
	}
}
