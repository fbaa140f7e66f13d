// Package async is a backend whose devices work by themselves, for tests of everything above backends: what passes on
// it makes no use of what only holds on CPUs. It computes with package cpu, on memory of its own.
//
//   - The host cannot see the memory of its buffers.
//   - Every device has one thread of work that does what it is given in order, with random delays, while the caller goes on.
//   - What fails is known late, from events and queues.
//   - A session that is launched three times with the same buffers captures them: from then on launches replay what was captured.
//   - A communicator that was aborted is of no more use.
//   - It counts what is alive, what is copied, and how often the host waits.
package async
