package coordinator_test

import (
	"context"
	"fmt"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/distribute/coordinator"
	"github.com/gokeras/gokeras/distribute/parameterserver"
	"github.com/gokeras/gokeras/kernels/ir"
)

// All tasks of the job run this program. Each call adds a number to a counter on the servers, exactly once whatever is
// killed.
func Example() {
	ctx := context.Background()
	err := parameterserver.RunStrategy(ctx, parameterserver.Options{}, func(ctx context.Context, s *distribute.ParameterServerStrategy) error {
		c, err := coordinator.New(s)
		if err != nil {
			return err
		}
		sum, err := c.Variable(ctx, coordinator.VariableSpec{Name: "sum"})
		if err != nil {
			return err
		}
		add := c.Function("add", func(cl *coordinator.Closure) (any, error) {
			return nil, cl.AssignAdd(sum, float32(cl.Arguments[0].(float64)))
		})
		if !c.Coordinates() {
			return c.Serve(ctx)
		}
		for i := range 100 {
			if _, err := c.Schedule(ctx, add, float64(i)); err != nil {
				return err
			}
		}
		if err := c.Join(ctx); err != nil {
			return err
		}
		total, err := sum.Read(ctx)
		fmt.Println(total, err)
		return err
	})
	if err != nil {
		fmt.Println(err)
	}
}

// An embedding that grows with its keys: rows are looked up and updated by id.
func ExampleClosure_GradientRows() {
	_ = func(ctx context.Context, c *coordinator.ClusterCoordinator) error {
		table, err := c.Variable(ctx, coordinator.VariableSpec{Name: "users", Shape: ir.Shape{16}, Dynamic: true, MaxRows: 1 << 20})
		if err != nil {
			return err
		}
		c.Function("step", func(cl *coordinator.Closure) (any, error) {
			ids := []int64{7, 7, -40}
			rows, err := cl.Lookup(table, ids) // three rows of 16; that of key 7 travels once
			if err != nil {
				return nil, err
			}
			return nil, cl.GradientRows(table, 0.1, ids, rows) // the two gradients of key 7 are summed
		})
		return nil
	}
}

// The same in blocks: a batch of any size stays in the cache from the look-up to the sum of gradients. Here an example
// looks two rows up, whose product is to become 1.
func ExampleClosure_UpdateRows() {
	_ = func(ctx context.Context, c *coordinator.ClusterCoordinator) error {
		const width = 16
		table, err := c.Variable(ctx, coordinator.VariableSpec{Name: "users", Shape: ir.Shape{width}, Dynamic: true, MaxRows: 1 << 20})
		if err != nil {
			return err
		}
		c.Function("step", func(cl *coordinator.Closure) (any, error) {
			ids := []int64{7, 12, 7, -40} // of two examples
			return nil, cl.UpdateRows(table, 0.1, ids, 2, func(_ int, rows []float32) error {
				for ; len(rows) > 0; rows = rows[2*width:] {
					a, b, product := rows[:width], rows[width:2*width], float32(0)
					for i := range a {
						product += a[i] * b[i]
					}
					for i := range a {
						a[i], b[i] = 2*(product-1)*b[i], 2*(product-1)*a[i]
					}
				}
				return nil
			})
		})
		return nil
	}
}
