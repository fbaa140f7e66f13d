package collective_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"

	"github.com/gokeras/gokeras/distribute/cluster"
	"github.com/gokeras/gokeras/distribute/collective"
)

// pair runs f on two workers, here in one process.
func pair(f func(rank int, g *collective.Group)) {
	var listeners []net.Listener
	var addresses []string
	for range 2 {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			fmt.Println(err)
			return
		}
		listeners, addresses = append(listeners, l), append(addresses, l.Addr().String())
	}
	spec, _ := cluster.NewSpec(map[string][]string{"worker": addresses})
	var running sync.WaitGroup
	for rank := range 2 {
		running.Go(func() {
			g, err := collective.Join(context.Background(), collective.Options{Cluster: spec, Task: cluster.Task{Type: "worker", Index: rank}, Listener: listeners[rank]})
			if err != nil {
				fmt.Println(err)
				return
			}
			f(rank, g)
			_ = g.Close()
		})
	}
	running.Wait()
}

func ExampleJoin() {
	ctx := context.Background()
	pair(func(rank int, g *collective.Group) {
		gradient := []float32{1, float32(rank)}
		err := g.AllReduce(ctx, collective.Sum, []collective.Tensor{collective.Of(gradient)}, collective.Name("dense/kernel"))
		if rank == 0 {
			fmt.Println(gradient, err)
		}
	})
	// Output: [2 1] <nil>
}

func ExampleGroup_AllGather() {
	ctx := context.Background()
	pair(func(rank int, g *collective.Group) {
		rows := [][]int32{{1, 2}, {3, 4, 5, 6}}
		all, err := g.AllGather(ctx, collective.Of(rows[rank], len(rows[rank])/2, 2))
		if rank == 1 {
			fmt.Println(collective.Values[int32](all[0]), all[1].Shape, err)
		}
	})
	// Output: [1 2] [2 2] <nil>
}

func ExampleOrderError() {
	ctx := context.Background()
	pair(func(rank int, g *collective.Group) {
		err := g.AllReduce(ctx, collective.Sum, []collective.Tensor{collective.Of(make([]float32, 3+rank))})
		var order *collective.OrderError
		if rank == 1 && errors.As(err, &order) {
			fmt.Println(order.A, "and", order.B, "disagree about collective", order.Sequence)
		}
		fmt.Print(g.Barrier(ctx) == nil, " ") // the next collective works
	})
	// Output:
	// worker:0 and worker:1 disagree about collective 1
	// true true
}

func ExampleFailedError() {
	ctx := context.Background()
	pair(func(rank int, g *collective.Group) {
		if rank == 0 {
			_ = g.Fail(ctx, "no space left on device") // returns the same error here
			return
		}
		err := g.Barrier(ctx)
		var failed *collective.FailedError
		if errors.As(err, &failed) {
			fmt.Println(failed.Task, "failed:", failed.Why)
		}
	})
	// Output: worker:0 failed: no space left on device
}

func ExampleNewSecret() {
	secret := collective.NewSecret() // on one machine; the others get the same
	options := collective.Options{Security: &collective.Security{Secret: []byte(secret)}}
	fmt.Println(len(options.Security.Secret), "hexadecimal digits")
	// Output: 64 hexadecimal digits
}

func ExampleGroup_Regroup() {
	ctx := context.Background()
	pair(func(rank int, g *collective.Group) {
		// After an error, or because StepEnd says that workers wait. Worker 1 is one step behind and takes over the
		// state of worker 0.
		err := g.Regroup(ctx, collective.Terms{HasState: true, Step: uint64(10 - rank)})
		v := g.View()
		state := []float64{float64(10 - rank)}
		if len(v.Behind) > 0 {
			err = errors.Join(err, g.Broadcast(ctx, v.Source, []collective.Tensor{collective.Of(state)}))
		}
		if rank == 1 {
			fmt.Println(v.Step, v.Source, v.Behind, state, err)
		}
	})
	// Output: 10 0 [1] [10] <nil>
}
