package layers

import "sync/atomic"

var revisions atomic.Uint64

// Revision counts the changes of layers in this process: those of EnableLora and Quantize, after which programs made
// before are of no use, and those of SetTrainable. While it stands still, so does [RevisionOf] of every layer.
func Revision() uint64 { return revisions.Load() }

// RevisionOf counts the changes of l and of all layers inside it, by EnableLora and Quantize, since they were built.
func RevisionOf(l Layer) uint64 {
	var sum uint64
	Walk(l, func(l Layer) { sum += l.base().revision })
	return sum
}

// changed notes that a built layer computes something else now, or with other variables.
//
//go:noinline
func (b *Base) changed() {
	b.revision++
	revisions.Add(1)
}
