//go:build unix

package multiworker_test

import (
	"context"
	"maps"
	"time"

	"github.com/gokeras/gokeras/distribute"
)

func roles() map[string]role {
	two := []string{"cpu:0", "cpu:1"}
	values := func(ctx context.Context, s *distribute.MultiWorkerMirroredStrategy) (any, error) {
		return valuesOf(ctx, s)
	}
	all := misfits()
	maps.Copy(all, limited())
	maps.Copy(all, map[string]role{
		"train":                     {run: trainRole},
		"train over the network":    {run: trainRole, stream: true},
		"train with two replicas":   {run: trainRole, devices: two},
		"train in small packs":      {run: trainRole, stream: true, pack: 1},
		"endless":                   {run: endless(misfit{}), hurried: true},
		"endless over the network":  {run: endless(misfit{}), hurried: true, stream: true},
		"endless with two replicas": {run: endless(misfit{}), hurried: true, devices: two},
		"train with backup":         {run: restarted(false)},
		"values":                    {run: values},
		"values with two replicas":  {run: values, devices: two},
		"allocations":               {run: allocations},
		"allocations, elastic":      {run: allocations, elastic: &distribute.Elastic{}},
		"endless and patient":       {run: endless(misfit{}), hurried: true, elastic: &distribute.Elastic{}, patient: 4 * time.Second},
		"forty epochs":              {run: trainFor(40, misfit{}), hurried: true, stream: true, elastic: &distribute.Elastic{}},
		"disk full":                 {run: diskFull},
		"summaries":                 {run: summaries},
		"uneven":                    {run: uneven},
		"crash with backup":         {run: restarted(true)},
	})
	return all
}
