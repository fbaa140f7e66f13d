// Package quantizers turns float arrays and tensors into whole numbers of eight and four bits and back, as
// keras.quantizers does:
//
//	q = round(x·scale), x ≈ q/scale,                scale = 127 / max|x|               AbsMaxQuantizer
//	q = round(x/scale) + zero, x ≈ (q - zero)·scale, scale = (max - min) / 15            QuantizeGrouped
//
// and holds the configurations that tell Quantize of a layer or model how. The guide is docs/quantization.md.
package quantizers
