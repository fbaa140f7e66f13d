// Package comm connects the replicas of one process: collectives over memory that all of them see. It knows buffers and
// communicators, but not programs.
//
// communicator.go is what a replica calls, round.go how replicas publish their calls and do their shares of them,
// combine.go what a share is.
package comm
