// Package saving implements Keras's file formats: the .keras archive, the layout of weights in HDF5 files, sharded
// weights, and the HDF5 files of Keras 2. Creating models from configurations is left to package keras; users call its
// LoadModel, Save, LoadWeights and SaveWeights.
//
// # Weights
//
// [Objects] walks a model as Keras does and lists the objects that own variables, each with its path in a file. [Load]
// finds the datasets of these paths in a [Source] (one HDF5 file or several) and copies their values to the variables;
// [Write] does the opposite.
//
// A path consists of attribute names ("layers/bidirectional/forward_layer/cell"). Members of lists are named by their
// class and a number, regardless of their own name. The variables of an object are datasets "0", "1", ... of its group
// "vars": first the trainable ones, then the others. An object that occurs twice is written at its first position.
//
// # Untrusted files
//
// Declared sizes are compared with the real size of the file before memory is allocated, checksums are verified, and
// names that lead out of the archive are refused. Nothing is written while a file is read.
package saving
