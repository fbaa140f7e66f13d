package tpu

import (
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
)

// CrossReplicaSum adds up what the replicas of a group have, and gives each of them the sum:
// tf.compat.v1.tpu.cross_replica_sum. groups (group_assignment) lists the replicas of each group, every replica once
// and all groups of one length; nil is one group of all replicas. It works under every strategy. The gradient is the
// sum of the gradients of the group.
func CrossReplicaSum(r *distribute.Replica, x *ops.Tensor, groups [][]int) *ops.Tensor {
	return r.AllReduceGroups(ir.Sum, groups, x)[0]
}
