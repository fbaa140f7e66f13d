package cpu

import "github.com/gokeras/gokeras/kernels/cpu/internal/isa"

// pairCosts holds what products of pairs of bfloat16 cost and save in a program. The unit is what one floating-point
// operation of a matrix product saves compared with float32.
type pairCosts struct {
	stored    float64 // of a result that is rounded and stored
	operand   float64 // of an element of a product's operand, which is packed into panels
	converted float64 // of an element that is rounded from float32
	product   float64 // additional cost of a product's result
	looped    float64 // the same in a loop, where the result stays in the cache
	panel     float64 // of multiplying by a panel, however few the rows
	widened   float64 // of a weight that a few rows are multiplied by in each step of a loop
	spared    float64 // what an element of a variable of 16 bits saves that is not widened for a product
	alone     float64 // least gain of a product in pairs in a program that computes in float32; 0: there are none

	convolution    float64 // what an operation of a convolution saves
	kernelGradient float64 // what an operation of a kernel's gradient saves
	loneImage      float64 // share of that for an image that is not paired with another one
	paired         float64 // of an element of an image that is interleaved with another image
	pairedFew      float64 // the same for images with fewer channels than leastChannels
	fewFilters     int     // with up to so many filters, for which float32 has its own kernels, a convolution saves nothing; with up to half as many it loses
	leastChannels  int     // least channels of an input for convolutions to save anything
	convolvedInput float64 // additional cost of an element of a convolution's input
	convolved      float64 // of an element of a convolution's result

	attention float64 // what an operation of attention saves
	head      float64 // of a product for one head of one example
	attended  float64 // of a result of attention
}

// vectorCosts were measured on Zen 4 with networks of all kinds and with single layers (internal/benchpeers/worker
// --halves --drawn). In 880 steps, using pairs throughout takes 1.11 of float32's time on average and 4 at worst. Using
// no pairs takes 1.00, and the better choice for each step 0.92. The choices by these numbers take 0.93. Counting what
// the operations of attention save made a small network slower. The kernel gradient of a single image saves nothing,
// because half of each pair is zero: in 25 convolutions of usual sizes, trained on one image, pairs took 1.17 in the
// median. Products in pairs amid float32 were measured with variables of 16 bits only; with those of mixed precision,
// which are rounded in each step, they gained nothing.
var vectorCosts = pairCosts{stored: 20, operand: 5, converted: 5, product: 50, looped: 50, widened: 10, spared: 18, alone: 4e5, convolution: 0.5, kernelGradient: 0.5, paired: 10, fewFilters: 8,
	convolvedInput: 40, convolved: 40, attended: 80}

// wholeCosts were measured in the same way on Zen 5, which multiplies whole vectors of 512 bits at once. An operation
// saves 2.1 ps, half of Zen 4's, so the additional costs of products, heads of attention and results weigh more. In 375
// steps, pairs throughout take 1.18 of float32's time on average, and the better choice for each step 0.940. The
// choices by these numbers take 0.951; 11 steps take more than 1.05, at worst 1.18 (with the numbers of Zen 4: 0.960,
// 40 steps, 1.30). In 288 other steps, to which they were not fitted, they take 0.940; 6 steps take more than 1.05, at
// worst 1.21 (with the numbers of Zen 4: 0.943, 21 steps, 1.48; the better choice for each step: 0.930).
var wholeCosts = pairCosts{stored: 20, converted: 6, product: 100, looped: 50, panel: 33e3, widened: 10, convolution: 0.3, kernelGradient: 0.3, paired: 10, fewFilters: 8,
	convolved: 40, attention: 0.76, head: 70e3}

// matrixCosts were measured in the same way with matrix registers (AMX of Emerald Rapids). In 144 steps, pairs
// throughout take 1.32 of float32's time on average and 7.6 at worst. No pairs take 1.00, and the better choice for
// each step 0.87. The choices by these numbers take 0.88, at worst 1.05. An operation saves 6 ps. A panel costs 210 ns,
// because the registers are configured, cleared and stored for one row as for 16. Convolutions with fewer than eight
// channels use vectors, where pairs saved nothing, and the gradients of their kernels fill only part of a register: a
// first layer for colour images with small windows took up to 1.7 times as long in pairs. The costs of these, of
// convolutions, of products in loops and of panels were adjusted with 472 other steps on such a machine. The numbers
// now take 0.737 of float32's time there (0.743 before; better choice for each step 0.728), and for steps of recurrent
// networks 0.811 (0.835 before; better choice 0.802).
var matrixCosts = pairCosts{stored: 5, converted: 2, product: 80, looped: 40, panel: 35e3, convolution: 0.5, kernelGradient: 1.5, loneImage: 1, leastChannels: 8, pairedFew: 40, convolved: 100,
	attention: 1.2, head: 500e3}

// activePairCosts returns the costs for the active processor.
func activePairCosts() *pairCosts {
	switch active := isa.Active(); {
	case active.Has(isa.AMXBF16):
		return &matrixCosts
	case active.Has(isa.Vectors512) && !isa.HalfUnits():
		return &wholeCosts
	}
	return &vectorCosts
}
