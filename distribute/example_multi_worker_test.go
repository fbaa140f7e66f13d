package distribute_test

import (
	"fmt"

	"github.com/gokeras/gokeras/distribute"
)

// Without a group the strategy is that of one worker. Programs call multiworker.NewStrategy, which finds and joins the others.
func ExampleMultiWorkerMirroredStrategy() {
	s, err := distribute.NewMultiWorkerMirroredStrategyOver(distribute.MultiWorkerOptions{
		MirroredOptions: distribute.MirroredOptions{Devices: []string{"cpu:0", "cpu:1"}},
	})
	check(err)
	defer s.Close()
	fmt.Println(s)
	fmt.Println(s.Workers(), s.Rank(), s.IsChief(), s.NumReplicasInSync())
	fmt.Println(distribute.SplitOverWorkers(s, 5))
	// Output:
	// MultiWorkerMirrored(cpu:0, cpu:1) worker 0 of 1
	// 1 0 true 2
	// [3 2] 0
}
