//go:build !linux || !amd64

package main

import (
	"fmt"
	"os"
)

func main() {
	fmt.Fprintln(os.Stderr, "amxemulator: only Linux on amd64 can trace programs with these instructions")
	os.Exit(1)
}
