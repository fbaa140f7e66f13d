// Package pool is the pool of workers shared by the CPU kernels.
//
// A parallel region is [Pool.Parallel](n, grain, task). The indices [0, n) are cut into chunks of grain indices, and
// each chunk is passed to task exactly once, by whichever goroutine claims it first. Kernels rely on this contract:
//
//   - Chunk boundaries depend on n and grain alone, never on the number of workers, and a region that runs serially visits
//     the same chunks. A task whose result for a chunk depends on the chunk alone therefore gives the same bits on any
//     machine.
//   - The caller works too. It waits only for chunks that somebody has started, so a descheduled worker delays the region
//     by at most the chunk in its hands.
//   - Chunks are claimed, never assigned: one compare-and-swap on a word that packs (generation, chunks left).
//   - A region allocates nothing. Task is an interface, so hand over a pointer to a struct that outlives the call (see
//     [Recycler]); a func literal would be allocated at each call.
//   - Several goroutines may use one pool at the same time. Up to 8 regions are open at once and idle workers help any of
//     them; a ninth runs serially on its caller.
//   - A panic in a task reaches the caller of Parallel as a [*PanicError], after all started chunks have ended. Chunks
//     nobody had started are dropped.
//   - Workers compute in the caller's mode of arithmetic: where it flushes denormals (package flush), they do, each locked to its
//     thread while it has chunks of the region.
//   - A task may itself open a region.
//
// Of programs that run at the same time, each keeps one processor: workers take chunks only on processors that no
// caller uses ([Pool.Enter]). So a server's predictions on as many goroutines as processors run as if each had a
// machine of one processor, instead of waiting for workers that look for more to do.
//
// After their last chunk, workers spin for about half a millisecond and then park: the next region of a training step
// follows within microseconds, and a wake-up costs more than most regions. A parked pool uses no processor time.
package pool
