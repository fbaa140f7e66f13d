// Command untested says which families of kernels the tests of this machine have gone through, and which instructions
// they could not execute: kernels of these were compiled, and that is all. The end of make test prints it.
package main

import (
	"fmt"
	"strings"

	"github.com/gokeras/gokeras/kernels/cpu/internal/isa"
)

func main() {
	var families []string
	for _, path := range isa.Paths() {
		families = append(families, path.String())
	}
	fmt.Println("kernels were tested as:", strings.Join(families, ", "))
	missing := isa.Missing()
	if len(missing) == 0 {
		return
	}
	fmt.Println("NOT tested, this processor lacks it:", strings.Join(missing, " "))
	fmt.Println("a change of such kernels is done when their tests have passed where it is there" +
		" (amx: make amx emulates it; arm64: make arm64)")
}
