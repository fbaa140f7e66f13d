// Package tpu runs a strategy on the cores of a TPU, or on the devices of another PJRT plugin:
// tf.distribute.TPUStrategy.
//
//	import _ "github.com/gokeras/gokeras/kernels/pjrt" // the devices "tpu:0", "tpu:1", ...
//
//	resolver := &cluster.TPU{}
//	err := tpu.ConnectToCluster(ctx, resolver)
//	topology, err := tpu.InitializeSystem(ctx, tpu.SystemOptions{Resolver: resolver})
//	strategy, err := tpu.NewStrategy(ctx, tpu.Options{Resolver: resolver, Topology: topology})
//	model, err := keras.NewSequential(layers, distribute.Scope(strategy))
//
// NewStrategy alone does all three steps. Each core is a replica. All replicas run one compiled program, in which the
// cores sum the gradients themselves. Shapes are static; a short batch is padded with rows that are ignored. There is
// no server: the program that calls this package runs on the TPU's hosts.
//
// The hosts of a TPU pod all run the program. They find each other as the workers of package multiworker do, and their
// devices through the group:
//
//	topology, err := tpu.InitializeSystem(ctx, tpu.SystemOptions{Resolver: resolver, Join: multiworker.JoinHosts(multiworker.Options{Security: security})})
//
// Fit, Evaluate and distributed datasets then take the batches of all hosts, as under
// distribute.MultiWorkerMirroredStrategy, whose rules hold. A lost host ends the job on all others with an error that
// names it, because a pod cannot continue without it. With callbacks.BackupAndRestore the restarted job continues from
// the chief's backup.
//
// If replicas have cores of all hosts (SPMDPartitioning), or a mesh of keras/distribution spans the hosts, the hosts
// run one program together: all read the same data and make the same calls in the same order.
//
// The package has been tested with XLA's plugin for CPUs, with processes in the role of hosts, and its programs have
// been compiled for TPUs. It has not run on a TPU.
package tpu
