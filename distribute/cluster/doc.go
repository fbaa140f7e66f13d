// Package cluster says which processes take part in a distributed job and which of them this process is.
//
// A [Spec] lists the tasks of a job with their network addresses, a [Task] is one of them, and a [Resolver] determines
// both from the environment: [TFConfig] from the TF_CONFIG environment variable, [Slurm] and [Kubernetes] from the
// variables that those schedulers set, [GCE] and [TPU] from Google Cloud's metadata, [Simple] from given values,
// [Union] from several resolvers.
//
// Names, rules and errors are those of tf.distribute.cluster_resolver (TensorFlow 2.21); where a resolver does more,
// its documentation says so.
package cluster
