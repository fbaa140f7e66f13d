package multiworker_test

import (
	"context"
	"maps"

	"github.com/gokeras/gokeras/distribute"
)

func roles() map[string]role {
	two := []string{"cpu:0", "cpu:1"}
	values := func(ctx context.Context, s *distribute.MultiWorkerMirroredStrategy) (any, error) {
		return valuesOf(ctx, s)
	}
	all := misfits()
	maps.Copy(all, map[string]role{
		"train":                     {run: trainRole},
		"train over the network":    {run: trainRole, stream: true},
		"train with two replicas":   {run: trainRole, devices: two},
		"endless":                   {run: endless(misfit{}), hurried: true},
		"endless over the network":  {run: endless(misfit{}), hurried: true, stream: true},
		"endless with two replicas": {run: endless(misfit{}), hurried: true, devices: two},
		"train with backup":         {run: restarted(false)},
		"values":                    {run: values},
		"values with two replicas":  {run: values, devices: two},
		"allocations":               {run: allocations},
		"uneven":                    {run: uneven},
		"crash with backup":         {run: restarted(true)},
	})
	return all
}
