// Package nccl calls NVIDIA's collective communication library, libnccl.so.2, which is loaded at run time, when needed.
//
// All communicators are nonblocking: calls return at once, and the operation is complete when [API.AsyncError] no
// longer returns [InProgress].
package nccl
