// Package parameterserver trains with variables on servers: tf.distribute.ParameterServerStrategy. Servers (tasks "ps")
// hold the variables and the state of the optimizer, workers compute gradients, and one coordinator (task "chief", or a
// process of no task) hands out the work.
//
// All processes run the same program. [Run] is its main function:
//
//	err := parameterserver.Run(ctx, parameterserver.Options{}, func(ctx context.Context, job parameters.Job) error { ... })
//
// Functions do not travel: workers register them under names, and the coordinator schedules calls of names, with
// arguments. See package distribute/coordinator for custom loops, and NewStrategy for Fit.
//
// # Faults
//
// A closure is applied exactly once on each server, however often it is sent out: see [parameters.Outcome]. A worker
// that dies or is silent for Options.Deadline loses its closures to others; it may come back at any time. A server with
// a Directory comes back with everything that it acknowledged; the others wait for it up to ServerTimeout, and are told
// about it by Observe. A coordinator that is started again takes over the living servers with their variables.
package parameterserver
