// Package distribution spreads one model over several devices: keras.distribution. A mesh arranges devices along named
// axes, layouts say along which of them each axis of a variable is divided, and a distribution is a strategy like those
// of package distribute:
//
//	mesh, err := distribution.NewDeviceMesh([]int{2, 2}, []string{"batch", "model"}, distribution.ListDevices("tpu")...)
//	layouts := distribution.NewLayoutMap(mesh)
//	err = layouts.Set(`.*dense.*/kernel`, "", "model")
//	d, err := distribution.NewModelParallel(layouts, "batch")
//	model, err := keras.NewSequential(list, distribute.Scope(d))
//
// The program is that of a single device. It is partitioned, and the communication inserted, by the compiler of the
// devices where it can do so ([kernels.Partitioner]: PJRT plugins), or else by package kernels/partition; the results
// are those of one device up to rounding. Without such a compiler, data-parallel training uses a mirrored strategy.
//
// [NewDeviceMeshOver] makes a mesh of the cores of all hosts of a TPU pod.
//
// In Keras a distribution is global (set_distribution); here it is an option of the model. Tested on CPUs and
// on XLA's plugin for CPUs; not run on a TPU.
package distribution
