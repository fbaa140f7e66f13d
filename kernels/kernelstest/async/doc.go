// Package async is a backend with asynchronous devices, for testing everything above backends: code that works on it
// does not rely on properties that only CPUs have. It computes with package cpu, on its own memory.
//
//   - The host cannot see the memory of its buffers.
//   - Every device has one worker that executes its work in order, with random delays, while the caller continues.
//   - Failures become known late, from events and queues.
//   - A session that is launched three times with the same buffers captures the launch: later launches replay it.
//   - An aborted communicator cannot be used again.
//   - It counts live objects, copies, and how often the host waits.
package async
