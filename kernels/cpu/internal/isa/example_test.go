package isa_test

import (
	"fmt"

	"github.com/gokeras/gokeras/kernels/cpu/internal/isa"
)

func ExampleLevel() {
	restore := isa.Override(isa.Portable)
	defer restore()
	fmt.Println(isa.Active(), isa.Best() >= isa.Active())
	// Output: portable true
}
