// Package onnx writes inference programs as ONNX models (https://onnx.ai), which other runtimes load: opset 18, IR
// version 8.
//
// A model is written from traces of one program for several lengths of its open axes. If a length in the program
// follows the batch (or another open axis), comparing the traces shows how, and the ONNX model computes it from the
// shape of its input at run time; so the model accepts batches of any size. Variables become initializers with Keras's
// paths as names, and nodes are named after the layers that made them.
//
// Composites with a counterpart in ONNX (convolution, pooling, layer normalization, softmax) are written as such, with
// transpositions where ONNX wants the channels first; the others by their decomposition. Recurrent layers become Scan.
package onnx
