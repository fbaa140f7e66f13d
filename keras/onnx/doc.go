// Package onnx writes inference programs as ONNX models (https://onnx.ai), which other runtimes load: opset 18, IR
// version 8.
//
// A model is written from a trace in which open axes have symbolic lengths. If a length in the program depends on the
// batch size (or another open axis), the ONNX model computes it from the shape of its input at run time, so the model
// accepts batches of any size. Variables become initializers with Keras's paths as names, and nodes are named after the
// layers that made them.
//
// Composites with a counterpart in ONNX (convolution, pooling, layer normalization, softmax) are written as such, with
// transpositions where ONNX expects the channels first. Other composites are decomposed. Recurrent layers become Scan.
package onnx
