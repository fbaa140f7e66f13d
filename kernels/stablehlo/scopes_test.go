package stablehlo_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/kernelstest"
	"github.com/gokeras/gokeras/kernels/stablehlo"
)

var nameInText = regexp.MustCompile(`%[A-Za-z0-9_]+`)

// undefined returns a name of a module that is used where it is not defined: before, or behind the region that it
// belongs to; "" where there is none. Regions are told by their indentation.
func undefined(text string) string {
	known := map[string]int{} // how far their region is indented
	for line := range strings.Lines(text) {
		rest := strings.TrimLeft(line, " ")
		depth := len(line) - len(rest)
		names := nameInText.FindAllString(rest, -1)
		switch {
		case strings.HasPrefix(rest, "#loc"):
			continue
		case strings.HasPrefix(rest, "}"):
			for name, inside := range known {
				if inside > depth {
					delete(known, name)
				}
			}
		case strings.HasPrefix(rest, "^bb0"), strings.HasPrefix(rest, "func.func"):
			for _, name := range names {
				known[name] = depth + 2
			}
			continue
		}
		if strings.HasPrefix(rest, "%") {
			known[names[0]], names = depth, names[1:]
		}
		for _, name := range names {
			if _, ok := known[name]; !ok {
				return name + " in " + line
			}
		}
	}
	return ""
}

// Operations use what has been written in their region or around it, although nothing is written twice.
func TestNamesAreDefined(t *testing.T) {
	require.Contains(t, undefined("func.func @main(%a) {\n  %b = f(%a) ({\n    %c = g(%a)\n    return %c\n  })\n  return %c\n"), "%c in")
	seen := map[ir.Op]int{}
	for _, c := range kernelstest.Cases() {
		if seen[c.Op]++; seen[c.Op] > 4 {
			continue
		}
		m, err := stablehlo.Lower(c.Program, stablehlo.Options{})
		require.NoError(t, err, "%s", c.Name)
		require.Empty(t, undefined(m.Text), "%s", c.Name)
	}
}
