package isa

import "runtime"

// kernelFeatures lists what kernels of an architecture are written for, in the groups in which processors have it.
var kernelFeatures = map[string][]Features{
	"amd64": {Vectors256, Vectors512 &^ Vectors256, AVX512VNNI, AVX512BF16, AVX512VBMI, AMXTile | AMXInt8 | AMXBF16},
	"arm64": {NEON, DotProd, BF16, I8MM},
}

// Missing names the features that kernels of this architecture are written for and this processor lacks. The tests go
// through the paths of the processor they run on, so without these names nobody sees which kernels were not tested.
func Missing() []string { return missing(runtime.GOARCH, Executable()) }

func missing(architecture string, have Features) (names []string) {
	for _, group := range kernelFeatures[architecture] {
		if have.Has(group) {
			continue
		}
		for i, name := range featureNames {
			if f := Features(1) << i; group.Has(f) && !have.Has(f) {
				names = append(names, name)
			}
		}
	}
	return names
}
