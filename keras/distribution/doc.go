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
// The program is that of a single device. The devices' compiler partitions it and inserts the communication if it can
// ([kernels.Partitioner]: PJRT plugins), otherwise package kernels/partition does. The results are those of one device
// up to rounding. Without such a compiler, data-parallel training uses a mirrored strategy.
//
// [NewDeviceMeshOver] makes a mesh of the cores of all hosts of a TPU pod.
//
// In Keras a distribution is global (set_distribution); here it is an option of the model. It is tested on CPUs and
// with XLA's plugin for CPUs, but has not run on a TPU.
package distribution
