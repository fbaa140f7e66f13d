// Package data feeds examples to a model: in-memory arrays, transformation pipelines, user-defined sequences, and
// readers of common file formats.
//
// # Terms
//
// An example is one row of the data: one image with its label. An array is an [Array], row-major. A [Batch] holds the
// arrays of some examples, stacked along a leading axis. An element is what a [Pipeline] passes from stage to stage: a
// single example (a Batch whose arrays have no leading axis) before [Pipeline.Batch], a stack of examples after it. A
// pass is one walk over a [Dataset] from its beginning; training makes one pass in each epoch.
//
// # Which source to use
//
//   - [Arrays]: everything is in memory. The fast path: the trainer shuffles row numbers and copies rows into buffers that
//     it reuses ([ArraySource.Loader]).
//   - [FromTensorSlices], [FromGenerator], [ImageFolder], ... return a [Pipeline] with the stages of tf.data: Map,
//     ParallelMap, Filter, Shuffle, Batch, Unbatch, Repeat, Take, Skip, Zip, Cache, Prefetch, Shard, Concatenate.
//   - [FromSequence]: random access to complete batches by number, Keras's PyDataset.
//   - any type with a Batches method is a [Dataset].
//
// # Ownership of memory
//
// A batch received from Batches may be read until the loop asks for the next one, and must not be written to: its
// arrays may share memory with the source, with other elements or with a buffer that will be reused. [Batch.Clone]
// makes a copy to keep or to change. Two sources promise more: the memory of a Pipeline's elements is never reused, so
// they may be kept, and a batch of a [Pass] belongs to its consumer until [Pass.Done].
//
// # Ending a pass
//
// Breaking out of a loop over Batches ends the pass: when the loop statement is left, every goroutine that served it
// has returned and every file is closed. A dataset stops after yielding an error. A cancelled context ends a pass with
// the context's error. Goroutines are joined, not abandoned, so user functions that block must return when their
// context ends.
package data
