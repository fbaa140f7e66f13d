package isa_test

import (
	"fmt"

	"github.com/gokeras/gokeras/kernels/cpu/internal/isa"
)

func ExampleFeatures() {
	restore := isa.Override(isa.Portable)
	defer restore()
	fmt.Println(isa.Active(), isa.Detected().Has(isa.Active()))
	fmt.Println(isa.Vectors512 | isa.AVX512VNNI)
	// Output:
	// portable true
	// avx512+avx512vnni
}
