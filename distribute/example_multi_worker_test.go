package distribute_test

import (
	"fmt"

	"github.com/gokeras/gokeras/distribute"
)

// Without a group the strategy is that of one worker. Programs call multiworker.NewStrategy, which finds and joins the
// others.
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

// With Min the job continues while two of four workers are left.
func ExampleElastic() {
	e := distribute.Elastic{Min: 2}
	least, most := e.Bounds(4)
	fmt.Println(least, most, e.Wait())
	fmt.Println(e.Check(1))
	// Output:
	// 2 4 1s
	// Elastic with Min 2 and Max 0 does not fit a cluster of 1 workers; expected 1 <= Min <= Max <= 1
}
