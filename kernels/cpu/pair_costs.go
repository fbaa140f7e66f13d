package cpu

import "github.com/gokeras/gokeras/kernels/cpu/internal/isa"

// pairCosts are what a program of products of pairs of bfloat16 costs and saves, in units of what a floating-point
// operation of a product of matrices saves over float32.
type pairCosts struct {
	stored    float64 // of a result that is stored, and rounded before that
	operand   float64 // of an element of an operand of a product, which is brought into panels
	converted float64 // of an element that is rounded from float32
	product   float64 // of a result of a product, besides, and
	looped    float64 // of one in a loop, where it stays in the cache
	panel     float64 // of multiplying with the columns of a panel, however few rows
	widened   float64 // of a weight that a few rows are multiplied by in each step of a loop

	convolution    float64 // what an operation of a convolution saves, and
	kernelGradient float64 // one of the gradient of a kernel
	loneImage      float64 // which share of it an image has without another one for its pairs
	paired         float64 // of an element of an image that is interleaved with another one's
	pairedFew      float64 // of one of an image of fewer channels than leastChannels
	fewFilters     int     // up to so many, for which float32 has kernels of its own, a convolution saves nothing, and up to half as many it loses
	leastChannels  int     // of an input whose convolutions save that
	convolvedInput float64 // of an element of the input of a convolution, besides
	convolved      float64 // of one of the result

	attention float64 // what an operation of attention saves
	head      float64 // of a product of a head of an example
	attended  float64 // of a result of attention
}

// vectorCosts were measured on Zen 4 with networks of all kinds and with single layers (internal/benchpeers/worker
// --halves --drawn): 880 steps, for which pairs throughout take 1.11 of float32's time in the mean, at worst 4, no
// pairs 1.00, and the better of both for each 0.92. What these numbers choose takes 0.93. To count what the operations
// of attention save made a small network slower. The gradient of a kernel from one image saves nothing, as half of its
// pairs are with zeros: of 25 convolutions of usual sizes that are trained on one image, pairs then took 1.17 in the
// median.
var vectorCosts = pairCosts{stored: 20, operand: 5, converted: 5, product: 50, looped: 50, widened: 10, convolution: 0.5, kernelGradient: 0.5, paired: 10, fewFilters: 8,
	convolvedInput: 40, convolved: 40, attended: 80}

// wholeCosts were measured in the same way on Zen 5, which multiplies whole vectors of 512 bits at once: an operation
// saves 2.1 ps, half of Zen 4's, and what a product, a head of attention and a result cost besides counts for more. For
// 375 steps, for which pairs throughout take 1.18 of float32's time in the mean and the better of both for each 0.940,
// these numbers take 0.951, 11 of them more than 1.05, at worst 1.18 (those of Zen 4 0.960, 40 and 1.30). For 288 other
// steps, which they were not fitted to, they take 0.940, 6 more than 1.05, at worst 1.21 (those of Zen 4 0.943, 21 and
// 1.48; the better of both 0.930).
var wholeCosts = pairCosts{stored: 20, converted: 6, product: 100, looped: 50, panel: 33e3, widened: 10, convolution: 0.3, kernelGradient: 0.3, paired: 10, fewFilters: 8,
	convolved: 40, attention: 0.76, head: 70e3}

// matrixCosts were measured with matrix registers (AMX of Emerald Rapids) in the same way: 144 steps, for which pairs
// throughout take 1.32 of float32's time in the mean, at worst 7.6, no pairs 1.00, and the better of both for each
// 0.87. What these numbers choose takes 0.88, at worst 1.05. An operation saves 6 ps, and a panel costs 210 ns: the
// registers are configured, emptied and stored for one row as for 16. Convolutions of fewer than eight channels go to
// vectors, where they saved nothing, and the gradients of their kernels fill a part of a register: a first layer of
// images in colour with small windows took up to 1.7 times as long in pairs. What these, convolutions, products in
// loops and panels cost was changed for 472 other steps on such a machine: the numbers take 0.737 of float32's time,
// 0.743 before, steps of recurrent networks 0.811 and 0.835 before, and the better of both for each 0.728 and 0.802.
var matrixCosts = pairCosts{stored: 5, converted: 2, product: 80, looped: 40, panel: 35e3, convolution: 0.5, kernelGradient: 1.5, loneImage: 1, leastChannels: 8, pairedFew: 40, convolved: 100,
	attention: 1.2, head: 500e3}

// costsOfPairs are those of the processor in force.
func costsOfPairs() *pairCosts {
	switch active := isa.Active(); {
	case active.Has(isa.AMXBF16):
		return &matrixCosts
	case active.Has(isa.Vectors512) && !isa.HalfUnits():
		return &wholeCosts
	}
	return &vectorCosts
}
