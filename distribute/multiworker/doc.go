// Package multiworker provides distribute.MultiWorkerMirroredStrategy: one model trained by several processes, on one
// or many machines.
//
// Every worker runs the same program. TF_CONFIG, Slurm or Kubernetes tells it who is who (see distribute/cluster):
//
//	strategy, err := multiworker.NewStrategy(ctx, multiworker.Options{})
//	defer strategy.Close()
//	model, err := keras.NewSequential(layers, distribute.Scope(strategy))
//	history, err := model.Fit(ctx, data.Arrays(x, y), keras.BatchSize(64)) // 64 is the batch of all workers together
//
// All workers read the same data; each trains on its part of every batch, so k workers compute what one worker
// computes. This is a separate package so that programs on one machine do not link gRPC.
//
// # Failures
//
// No worker waits forever. If one dies, freezes for longer than Options.Deadline or is cut off, Fit on all others
// returns a *collective.MemberError that names it. Workers that diverge (different data, shapes, options or code) all
// get a *collective.OrderError with both sides; so do the others when one worker fails on its own, and the error
// contains that worker's error text. The whole job is then restarted; with callbacks.BackupAndRestore it resumes from
// the chief's last backup, with the same results as if nothing had happened.
//
// With Options.Elastic, or a BackupAndRestore callback, the job survives the loss of workers: the others keep the model
// in memory, wait for a lost worker or continue with fewer, and give their state to a worker that comes back. No step
// is lost or applied twice. See [distribute.Elastic] and docs/distribute.md. A restarted worker needs no special code:
// NewStrategy joins the running job, and Fit continues where the others are. It should read its data before
// NewStrategy, because from then on the others wait for it.
//
// # What the chief does
//
// The worker with rank 0 is the chief. When Fit begins, all workers receive its initial weights and the state that it
// restores. Save, SaveWeights and the backups of BackupAndRestore write files on the chief only and may be called on
// all workers. The same holds for the callbacks that write files or send logs: ModelCheckpoint, TensorBoard, CSVLogger,
// RemoteMonitor. Pass them on all workers: if the chief is lost and the job continues, the next chief continues its
// files. (In TensorFlow the other workers write to temporary folders beside the chief's, or over its files.) Custom
// callbacks do the same by asking the model:
//
//	if m.WritesFiles() { ... }
//
// Logs of epochs and of Evaluate cover all examples, on every worker. Logs of batches cover the worker's own examples.
package multiworker
