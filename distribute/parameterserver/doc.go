// Package parameterserver trains with variables on servers: tf.distribute.ParameterServerStrategy. Servers (tasks "ps")
// hold the variables and the state of the optimizer, workers compute gradients, and one coordinator (task "chief", or a
// process without a task) schedules the work.
//
// All processes run the same program. [Run] is its main function:
//
//	err := parameterserver.Run(ctx, parameterserver.Options{}, func(ctx context.Context, job parameters.Job) error { ... })
//
// Functions cannot be sent: workers register them under names, and the coordinator schedules calls by name, with
// arguments. See package distribute/coordinator for custom loops, and NewStrategy for Fit.
//
// # Faults
//
// A closure is applied exactly once on each server, however often it is sent: see [parameters.Outcome]. The closures of
// a worker that dies or is silent for Options.Deadline go to other workers; it may come back at any time. A server with
// a Directory restarts with everything that it acknowledged; the others wait for it up to ServerTimeout, and Observe
// reports it. A restarted coordinator takes over the running servers with their variables.
package parameterserver
