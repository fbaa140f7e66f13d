// Package nccl calls NVIDIA's collective communication library, libnccl.so.2, which is loaded where it is needed and
// never linked.
//
// All communicators are made not to block: calls return at once, and what they began is over when [API.AsyncError] no
// longer says [InProgress].
package nccl
