// Command platforms type-checks the packages of the module for other platforms:
//
//	go run ./internal/platforms linux/arm64 darwin/arm64 windows/amd64
//
// What breaks on another platform is nearly always a name defined only in some files (a system call, an assembly
// routine without its twin). Type-checking finds that in seconds, while compiling everything takes minutes of processor
// time per platform. "make platforms" compiles.
package main

import (
	"fmt"
	"os"
)

func main() {
	failed := false
	for _, platform := range os.Args[1:] {
		problems, err := check(".", platform, "./...")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		for _, p := range problems {
			fmt.Fprintf(os.Stderr, "%s: %v\n", platform, p)
		}
		failed = failed || len(problems) > 0
	}
	if failed {
		os.Exit(1)
	}
}
