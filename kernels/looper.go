package kernels

// Looper is implemented by backends that gain from several steps in one program. A launch costs them more than a loop
// on the device, whose compiler keeps the variables of a loop in place.
type Looper interface {
	Backend
	// LoopsSteps reports whether training with several steps per execution should make one program of them.
	LoopsSteps() bool
}
