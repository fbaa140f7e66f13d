// Package quantizers converts float arrays and tensors to integers of eight and four bits and back, like
// keras.quantizers:
//
//	q = round(x·scale), x ≈ q/scale,                scale = 127 / max|x|               AbsMaxQuantizer
//	q = round(x/scale) + zero, x ≈ (q - zero)·scale, scale = (max - min) / 15            QuantizeGrouped
//
// It also holds the configurations for Quantize of a layer or model. The guide is docs/quantization.md.
package quantizers
