// Package collective lets the workers of a job reduce, gather and broadcast tensors, and detects when one of them is
// lost.
//
// [Join] forms a group of the chief and workers of a cluster. All members then call the same collectives in the same
// order:
//
//	AllReduce   y[i] = x_0[i] op x_1[i] op ... op x_{n-1}[i]   on every worker, in place
//	AllGather   [x_0, x_1, ..., x_{n-1}]                        on every worker
//	Broadcast   x_root                                          on every worker, in place
//	Barrier     no worker continues before all have called it
//	StepEnd     flags of all workers joined, between two steps
//
// # Reductions
//
// Above 16 KiB an all-reduce is a pipelined ring (reduce-scatter, then all-gather), which moves 2(n-1)/n of the tensor
// over each link; below, a binomial tree. The order of additions depends only on the number of workers and elements:
// chunk c of n is x[c] + x[c+1] + ... in ring order, and small tensors are summed along a binomial tree. So all workers
// get the same bits, on every run and over every transport. [Wire] sends float32 as bfloat16: partial sums are rounded
// before each hop.
//
// # Transports
//
// Workers on one host use shared memory: each copies a window of its input to memory that the others have mapped,
// reduces its part of the window from all, and copies the rest of the result. Otherwise messages travel over gRPC
// streams, whose codec passes tensor bytes to the socket without copying. Without TLS, parts of a large tensor are read
// from the socket directly to their destination, or added there; gRPC sees only the headers of these messages. The
// workers agree on the transport when the group forms.
//
// # Failures
//
// If a worker dies, freezes for longer than [Options].Deadline, or is cut off, the current group ends. All survivors
// get the same [*MemberError], which names the worker; the worker itself, if it still runs, gets an [*ExpelledError].
// [Group.Regroup] forms the next group from the remaining workers, reports the last step that any of them has completed
// and who has that state ([View]), and admits waiting workers ([Group.Pending], [Boundary]). A typical loop:
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
// A group needs [Options].MinMembers workers. If that is less than a majority, both parts of a partitioned network
// continue; when they meet again, the smaller one discards its work.
//
// Workers that make different calls get the same [*OrderError], with both calls, and can continue.
//
// # Security
//
// Loopback addresses are used without encryption unless [Options].Security is set; all others need it: mutual TLS with
// certificates from files or derived from a shared secret. Messages carry the job and the group they belong to, their
// sizes and the number of connections are bounded, and a worker listens on its own address only.
package collective
