// Package saving holds Keras's file formats: the .keras archive, the layout of weights in HDF5 files, sharded weights
// and the HDF5 files of Keras 2. What models are and how they are made of a configuration is the business of package
// keras, which is the one to use: its LoadModel, Save, LoadWeights and SaveWeights.
//
// # Weights
//
// [Objects] walks a model as Keras does and lists what owns variables, each with its path in a file. [Load] finds the
// datasets of these paths in a [Source] (an HDF5 file or several) and gives their values to the variables; [Write] does
// the opposite.
//
// A path is made of attribute names ("layers/bidirectional/forward_layer/cell"); members of lists are called by their
// class and a count, whatever their name is. The variables of an object are datasets "0", "1", ... of its group "vars":
// first the trained, then the other ones. An object that is met twice is written at the first place.
//
// # Files from strangers
//
// Sizes that a file declares are compared with its real size before memory is asked for, checksums are verified, names
// that lead out of the archive are refused, and nothing is written anywhere while a file is read.
package saving
