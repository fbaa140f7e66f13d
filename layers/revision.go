package layers

import "sync/atomic"

var revisions atomic.Uint64

// Revision counts the changes of layers in this process: those by EnableLora and Quantize, which make existing programs
// obsolete, and those by SetTrainable. While it does not change, neither does [RevisionOf] of any layer.
func Revision() uint64 { return revisions.Load() }

// RevisionOf counts the changes of l and of all layers inside it, by EnableLora and Quantize, since they were built.
func RevisionOf(l Layer) uint64 {
	var sum uint64
	Walk(l, func(l Layer) { sum += l.base().revision })
	return sum
}

// changed records that a built layer now computes something else, or uses other variables.
//
//go:noinline
func (b *Base) changed() {
	b.revision++
	revisions.Add(1)
}
