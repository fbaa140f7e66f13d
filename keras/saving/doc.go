// Package saving holds Keras's file formats: the .keras archive, the layout of weights in HDF5 files, sharded weights
// and the HDF5 files of Keras 2. Package keras knows what models are and how they are created from a configuration;
// users call its LoadModel, Save, LoadWeights and SaveWeights.
//
// # Weights
//
// [Objects] walks a model as Keras does and lists the objects that own variables, each with its path in a file. [Load]
// finds the datasets of these paths in a [Source] (one HDF5 file or several) and copies their values to the variables;
// [Write] does the opposite.
//
// A path is made of attribute names ("layers/bidirectional/forward_layer/cell"); members of lists are called by their
// class and a count, regardless of their name. The variables of an object are datasets "0", "1", ... of its group
// "vars": first the trainable ones, then the others. An object that occurs twice is written at its first position.
//
// # Untrusted files
//
// Declared sizes are compared with the real size of the file before memory is allocated, checksums are verified, names
// that lead out of the archive are refused, and nothing is written anywhere while a file is read.
package saving
