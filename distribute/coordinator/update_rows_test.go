package coordinator_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/distribute/coordinator"
	"github.com/gokeras/gokeras/distribute/parameters"
	"github.com/gokeras/gokeras/kernels/ir"
)

// TestUpdateRows: in blocks the tables end with the bits of Lookup and GradientRows of whole batches, whatever the
// width, the ids and their groups, and dynamic or not. Functions see groups as wholes and in order.
func TestUpdateRows(t *testing.T) {
	type batch struct {
		ids   []int64
		group int
	}
	r := rand.New(rand.NewPCG(3, 5))
	var batches []batch
	for range 12 {
		group := 1 + r.IntN(40)
		b := batch{group: group}
		for range group * r.IntN(1+3000/group) {
			b.ids = append(b.ids, int64(500*r.Float64()*r.Float64()*r.Float64()))
		}
		batches = append(batches, b)
	}
	batches = append(batches, batch{nil, 1})
	const rows = 500
	widths := []int{1, 3, 16, 200}
	tables := map[string]*coordinator.Variable{}
	failed := errors.New("no gradient today")
	functions := map[string]*coordinator.Function{}
	job := startJob(t, 1, 2, nil, func(ctx context.Context, c *coordinator.ClusterCoordinator) error {
		register := func(name string, f coordinator.FunctionBody) { functions[name] = c.Function(name, f) }
		for _, width := range widths {
			for _, kind := range []string{"blocks", "whole", "dynamic", "dynamic whole"} {
				spec := coordinator.VariableSpec{Name: fmt.Sprintf("%s %d", kind, width), Shape: ir.Shape{rows, width}, Rule: parameters.Rule{Kind: parameters.SGD},
					Init: parameters.Init{Kind: parameters.Uniform, A: -1, B: 1, Seed: 7}}
				if kind[0] == 'd' {
					spec.Shape, spec.Dynamic = ir.Shape{width}, true
				}
				v, err := c.Variable(ctx, spec)
				if err != nil {
					return err
				}
				tables[spec.Name] = v
			}
		}
		gradient := func(first, width int, rows []float32) {
			for i, x := range rows {
				rows[i] = 2*x + float32(first*width+i)/1000
			}
		}
		register("blocks", func(cl *coordinator.Closure) (any, error) {
			b := batches[cl.Arguments[1].(int)]
			v := tables[cl.Arguments[0].(string)]
			width, next := cl.Arguments[2].(int), 0
			err := cl.UpdateRows(v, 0.1, b.ids, b.group, func(first int, rows []float32) error {
				if n := len(rows) / width; first != next || n%b.group != 0 || len(rows)%width != 0 || n == 0 {
					return fmt.Errorf("%d rows from %d, expected whole groups of %d from %d", n, first, b.group, next)
				}
				next = first + len(rows)/width
				gradient(first, width, rows)
				return nil
			})
			if err == nil && next != len(b.ids) {
				err = fmt.Errorf("rows of %d ids came, of %d", next, len(b.ids))
			}
			return nil, err
		})
		register("whole", func(cl *coordinator.Closure) (any, error) {
			ids := batches[cl.Arguments[1].(int)].ids
			v := tables[cl.Arguments[0].(string)]
			rows, err := cl.Lookup(v, ids)
			if err != nil {
				return nil, err
			}
			gradient(0, cl.Arguments[2].(int), rows)
			return nil, cl.GradientRows(v, 0.1, ids, rows)
		})
		register("fails", func(cl *coordinator.Closure) (any, error) {
			return nil, cl.UpdateRows(tables["blocks 16"], 0.1, []int64{1, 2}, 1, func(int, []float32) error { return failed })
		})
		register("ungrouped", func(cl *coordinator.Closure) (any, error) {
			return nil, cl.UpdateRows(tables["blocks 16"], 0.1, []int64{1, 2, 3}, 2, func(int, []float32) error { return nil })
		})
		register("nothing in a group", func(cl *coordinator.Closure) (any, error) {
			return nil, cl.UpdateRows(tables["blocks 16"], 0.1, []int64{1, 2, 3}, 0, func(int, []float32) error { return nil })
		})
		return nil
	})
	c := job.coordinate()
	run := func(f, table string, n, width int) {
		v, err := c.Schedule(t.Context(), functions[f], table, n, width)
		require.NoError(t, err)
		_, err = v.Fetch(t.Context())
		require.NoError(t, err, "%s, batch %d", table, n)
	}
	for _, width := range widths {
		for n := range batches {
			for _, of := range [][2]string{{"blocks", "whole"}, {"dynamic", "dynamic whole"}} {
				run("blocks", fmt.Sprintf("%s %d", of[0], width), n, width)
				run("whole", fmt.Sprintf("%s %d", of[1], width), n, width)
			}
		}
		a, err := tables[fmt.Sprintf("blocks %d", width)].Read(t.Context())
		require.NoError(t, err)
		b, err := tables[fmt.Sprintf("whole %d", width)].Read(t.Context())
		require.NoError(t, err)
		require.Equal(t, b, a, "width %d", width)
		keys, got, err := tables[fmt.Sprintf("dynamic %d", width)].Export(t.Context())
		require.NoError(t, err)
		wantKeys, want, err := tables[fmt.Sprintf("dynamic whole %d", width)].Export(t.Context())
		require.NoError(t, err)
		require.Equal(t, wantKeys, keys)
		require.Equal(t, want, got, "width %d", width)
	}
	before, err := tables["blocks 16"].Read(t.Context())
	require.NoError(t, err)
	for f, text := range map[string]string{"fails": failed.Error(), "ungrouped": "3 ids in groups of 2", "nothing in a group": "3 ids in groups of 0"} {
		_, err := c.Schedule(t.Context(), functions[f])
		require.NoError(t, err)
		require.ErrorContains(t, c.Join(t.Context()), text)
	}
	after, err := tables["blocks 16"].Read(t.Context())
	require.NoError(t, err)
	require.Equal(t, before, after, "an update that failed is not applied")
}
