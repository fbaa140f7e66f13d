//go:build linux && amd64

package main

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
)

func main() {
	required := flag.String("require", "", "names of instructions that have to be executed, separated by commas")
	verbose := flag.Bool("v", false, "say how often each instruction was executed")
	flag.Parse()
	if flag.NArg() == 0 {
		fmt.Fprintln(os.Stderr, "usage: amxemulator [-require NAMES] [-v] PROGRAM [ARGUMENT...]")
		os.Exit(2)
	}
	m := &machine{log: os.Stderr}
	status, err := m.run(flag.Arg(0), flag.Args()[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "amxemulator:", err)
		os.Exit(1)
	}
	if *verbose {
		names := []string{}
		for name := range m.counts {
			names = append(names, name)
		}
		slices.Sort(names)
		for _, name := range names {
			fmt.Fprintf(os.Stderr, "amxemulator: %s %d\n", name, m.counts[name])
		}
	}
	for name := range strings.SplitSeq(*required, ",") {
		if name != "" && m.counts[name] == 0 && status == 0 {
			fmt.Fprintf(os.Stderr, "amxemulator: %s was never executed\n", name)
			status = 1
		}
	}
	if m.failed && status == 0 {
		status = 1
	}
	os.Exit(status)
}
