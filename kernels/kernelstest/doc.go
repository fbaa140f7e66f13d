// Package kernelstest is the conformance suite of backends: one call runs every op of package ir over element types and
// shapes (odd, empty, length one, rank 0 to 5), whole and decomposed, plus control flow, aliasing, collectives, bad
// input and random programs, and compares each result with package reference.
//
//	func TestConformance(t *testing.T) { kernelstest.Run(t, backend, kernels.Device{Kind: "cpu"}) }
//
// Inputs are seeded from the name of the case, so a failing case can be run alone with go test -run. A comparison
// passes only when |got-want| is at most the case's tolerance: NaN equals only NaN, infinities and integers must be
// equal.
package kernelstest
