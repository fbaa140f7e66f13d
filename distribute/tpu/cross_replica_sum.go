package tpu

import (
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
)

// CrossReplicaSum sums x over the replicas of a group, and returns the sum on each of them:
// tf.compat.v1.tpu.cross_replica_sum. groups (group_assignment) lists the replicas of each group; every replica is in
// exactly one group, and all groups have the same length. nil means one group of all replicas. It works under every
// strategy. The gradient is the sum of the gradients of the group.
func CrossReplicaSum(r *distribute.Replica, x *ops.Tensor, groups [][]int) *ops.Tensor {
	return r.AllReduceGroups(ir.Sum, groups, x)[0]
}
