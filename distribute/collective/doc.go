// Package collective lets the workers of a job reduce, gather and broadcast tensors, and notices when one of them is
// gone.
//
// [Join] forms a group of the chief and workers of a cluster. All members then call the same collectives in the same
// order:
//
//	AllReduce   y[i] = x_0[i] op x_1[i] op ... op x_{n-1}[i]   on every worker, in place
//	AllGather   [x_0, x_1, ..., x_{n-1}]                        on every worker
//	Broadcast   x_root                                          on every worker, in place
//	Barrier     nobody goes on before all have come
//	StepEnd     flags of all workers joined, between two steps
//
// # Reductions
//
// Above 16 KiB an all-reduce is a pipelined ring (reduce-scatter, then all-gather), which moves 2(n-1)/n of the tensor
// over each link; below, a binomial tree. The order of additions depends on the number of workers and elements alone:
// chunk c of n is x[c] + x[c+1] + ... in ring order, small tensors are added as in a binomial tree. So all workers get
// the same bits, on every run and over every transport. [Wire] sends float32 as bfloat16: partial sums are rounded
// before each hop.
//
// # Transports
//
// Workers of one host use shared memory: each copies a window of its input to memory that the others have mapped,
// reduces its part of the window from all, and copies the rest of the result. Otherwise messages travel over gRPC
// streams, whose codec hands tensor bytes to the socket as they are. Without TLS the socket that receives parts of a
// large tensor puts them right where they belong, or adds them there; gRPC sees the headers of these messages. Which
// transport is used is agreed on when the group forms.
//
// # Failures
//
// A worker that dies, freezes for longer than [Options].Deadline, or is cut off makes the current group end. All
// survivors get the same [*MemberError], which names it; it itself, if it still runs, gets an [*ExpelledError].
// [Group.Regroup] forms the next group of who is left, tells which step is the last one that anybody has completed and
// who has that state ([View]), and takes in workers that wait ([Group.Pending], [Boundary]). A typical loop:
//
//	for {
//		err := trainStep()                         // AllReduce of gradients; then apply them and count the step
//		if err == nil {
//			boundary, err = g.StepEnd(ctx, step, flags)
//		}
//		if lost or expelled or boundary.Pending {
//			err = g.Regroup(ctx, collective.Terms{HasState: true, Step: step})
//			if v := g.View(); len(v.Behind) > 0 {
//				err = g.Broadcast(ctx, v.Source, state) // and those behind take over v.Step
//			}
//		}
//	}
//
// A group needs [Options].MinMembers workers. With less than a majority, the parts of a network that broke apart both
// go on; when they meet again the smaller one gives up what it did.
//
// Workers that call different things get the same [*OrderError], with both calls, and can go on.
//
// # Security
//
// Loopback addresses are used without encryption unless [Options].Security is set; all others need it: mutual TLS with
// certificates from files or derived from a shared secret. Messages carry the job and the group they belong to, their
// sizes and the number of connections are bounded, and a worker listens on its own address only.
package collective
