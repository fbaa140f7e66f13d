// Package multiworker makes distribute.MultiWorkerMirroredStrategy: one model trained by several processes, on one or
// many machines.
//
// Every worker runs the same program. TF_CONFIG, Slurm or Kubernetes tells it who is who (see distribute/cluster):
//
//	strategy, err := multiworker.NewStrategy(ctx, multiworker.Options{})
//	defer strategy.Close()
//	model, err := keras.NewSequential(layers, distribute.Scope(strategy))
//	history, err := model.Fit(ctx, data.Arrays(x, y), keras.BatchSize(64)) // 64 is the batch of all workers together
//
// All workers read the same data; each trains on its part of every batch, so that k workers compute what one computes.
// It is a package of its own so that programs on one machine do without gRPC.
//
// # Failures
//
// Nothing waits forever. A worker that dies, freezes for longer than Options.Deadline or is cut off makes Fit return a
// *collective.MemberError on all others, which names it. Workers that do different things (other data, shapes, options
// or code) all get a *collective.OrderError with both sides; so do the others when one worker fails by itself, and the
// error has its text. The job is then started again, as a whole; with callbacks.BackupAndRestore it goes on where the
// chief's last backup was, with the same numbers as if nothing had happened.
//
// With Options.Elastic, or a BackupAndRestore callback, the job outlives the loss of workers: the others keep the model
// in memory, wait for the return of a lost one or go on with fewer, and give one that comes back their state. No step
// is lost or applied twice. See [distribute.Elastic] and docs/distribute.md. A worker that is started again finds its
// way by itself: NewStrategy enters the running job, and Fit goes on where the others are. It had best read its data
// before NewStrategy, because from there on the others wait for it.
//
// # What the chief does
//
// The worker with rank 0 is the chief. Its initial weights, and the state that it restores, are given to all when Fit
// begins. Save, SaveWeights and the backups of BackupAndRestore write files on the chief only and may be called on all.
// So do the callbacks that leave files or send logs: ModelCheckpoint, TensorBoard, CSVLogger, RemoteMonitor. Give them
// to all workers: where the chief is lost and the job goes on, the next chief goes on with its files. (TensorFlow's
// other workers write to temporary folders beside the chief's, or over its files.) Callbacks of your own do the same
// where they ask the model:
//
//	if m.WritesFiles() { ... }
//
// Logs of epochs and of Evaluate are those of all examples, on every worker. Logs of batches are those of the worker's
// own examples.
package multiworker
