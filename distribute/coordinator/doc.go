// Package coordinator schedules functions on the workers of a parameter server job:
// tf.distribute.experimental.coordinator.
//
// All processes run the same program. Functions cannot be sent: every process registers them, in the same order or
// under the same names, and the coordinator schedules calls of them with arguments, which are sent.
//
//	c, err := coordinator.New(strategy)
//	counter, err := c.Variable(ctx, coordinator.VariableSpec{Name: "counter"})
//	count := c.Function("count", func(cl *coordinator.Closure) (any, error) {
//		return nil, cl.AssignAdd(counter, 1)
//	})
//	if !c.Coordinates() {
//		return c.Serve(ctx) // a worker runs what it is given until the job is over
//	}
//	for range 100 {
//		_, err = c.Schedule(ctx, count)
//		...
//	}
//	err = c.Join(ctx)
//
// The changes of a closure are applied when its function has returned, exactly once on each server, even if the closure
// is run several times: when its worker is lost, another one runs it again. A function should therefore have no other
// side effects.
package coordinator
