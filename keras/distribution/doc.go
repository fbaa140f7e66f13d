// Package distribution spreads one model over several devices: keras.distribution. A mesh names the axes along which
// devices lie, layouts say along which of them each axis of a variable is cut, and a distribution is a strategy like
// those of package distribute:
//
//	mesh, err := distribution.NewDeviceMesh([]int{2, 2}, []string{"batch", "model"}, distribution.ListDevices("tpu")...)
//	layouts := distribution.NewLayoutMap(mesh)
//	err = layouts.Set(`.*dense.*/kernel`, "", "model")
//	d, err := distribution.NewModelParallel(layouts, "batch")
//	model, err := keras.NewSequential(list, distribute.Scope(d))
//
// The program is that of a single device. The compiler of the devices cuts it into parts and inserts what these must
// exchange, so the results are those of one device up to rounding. That takes devices whose compiler can do so
// ([kernels.Partitioner]): those of PJRT plugins. Data parallel training on other devices is that of a mirrored
// strategy.
//
// In Keras a distribution is global (set_distribution); here it is an option of the model. Proved on XLA's plugin for
// CPUs; not run on a TPU.
package distribution
