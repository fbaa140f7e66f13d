package main

import (
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/layers"
)

// Every function has a row, or a reason to have none.
func TestEveryFunctionIsTimed(t *testing.T) {
	for _, name := range layers.OperationNames() {
		if reason, out := leftOut[name]; out {
			assert.NotEmpty(t, reason, name)
			continue
		}
		b, err := caseOf(name, 1<<12)
		require.NoError(t, err)
		timer, err := newTimer(b, false)
		if assert.NoError(t, err, "%s: name its arguments in special, or the reason for having no row in leftOut", name) {
			timer.close()
		}
		if timer, err = newTimer(b, true); err != errNoGradient && assert.NoError(t, err, "the gradient of %s", name) {
			timer.close()
		}
	}
}

// What is left out exists.
func TestTablesNameFunctions(t *testing.T) {
	for name := range leftOut {
		_, _, ok := layers.OperationSignature(name)
		assert.True(t, ok, "leftOut names %q, which is no function", name)
	}
	for name := range special {
		_, _, ok := layers.OperationSignature(name)
		assert.True(t, ok, "special names %q, which is no function", name)
	}
}

// Every layer has a row, or a reason to have none; so that a new one cannot be forgotten.
func TestEveryLayerIsTimed(t *testing.T) {
	for _, class := range layerClasses() {
		if layerLeftOut(class) != "" {
			continue
		}
		timer, err := newTimer(layerCase(class, 1<<12), false)
		if assert.NoError(t, err, "%s: name its configuration in configurations and its inputs in layerInputs, or the reason for having no row in layersLeftOut", class) {
			timer.close()
		}
		if timer, err = newTimer(layerCase(class, 1<<12), true); err != errNoGradient && assert.NoError(t, err, "the gradient of %s", class) {
			timer.close()
		}
	}
}

// What the tables of layers name exists.
func TestTablesNameLayers(t *testing.T) {
	classes := layerClasses()
	for class := range layerInputs {
		assert.Contains(t, classes, class)
	}
	matches := func(r *regexp.Regexp) bool { return slices.ContainsFunc(classes, r.MatchString) }
	for _, c := range configurations {
		assert.True(t, matches(c.class), "configurations has %v, which is no layer", c.class)
	}
	for _, l := range layersLeftOut {
		assert.True(t, matches(l.class), "layersLeftOut has %v, which is no layer", l.class)
	}
}

// Every row has a number of copies that it may take, and so have its gradients.
func TestEveryRowHasABar(t *testing.T) {
	for _, c := range allCases() {
		b, err := c.at(1 << 12)
		require.NoError(t, err)
		for _, gradients := range []bool{false, true} {
			if _, err := b.program(gradients); err == errNoGradient {
				continue
			}
			copies, ok := recorded(c.name, gradients)
			assert.True(t, ok && copies >= 0, "%s (gradients: %v) has no number of copies; record it: go run ./internal/benchops -copies -record internal/benchops/copies.txt", c.name, gradients)
		}
	}
}

// Other element types are those of the operands, and only where there are floats.
func TestPrecision(t *testing.T) {
	add, err := caseOf("add", 1<<12)
	require.NoError(t, err)
	wide, ok := add.in("float64")
	assert.True(t, ok)
	assert.Equal(t, "float64", wide.Arguments[0].Tensors[0].DType)
	assert.Equal(t, "float32", add.Arguments[0].Tensors[0].DType)
	_, ok = add.in("int32")
	assert.True(t, ok)
	layer := layerCase("ReLU", 1<<12)
	_, ok = layer.in("bfloat16")
	assert.False(t, ok)
	and, err := caseOf("bitwise_and", 1<<12)
	require.NoError(t, err)
	_, ok = and.in("float64")
	assert.False(t, ok)
	for _, d := range otherTypes() {
		for _, b := range []benchmark{add, and} {
			if b, ok := b.in(d); ok {
				timer, err := newTimer(b, false)
				require.NoError(t, err, b.Name)
				timer.close()
			}
		}
	}
}

// Random calls can be traced and run, forward and backward.
func TestRandomCalls(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 16))
	for range 300 {
		b := drawCall(r, 1<<8, regexp.MustCompile(""))
		timer, err := newTimer(b, false)
		require.NoError(t, err, b.Name)
		timer.close()
		if timer, err = newTimer(b, true); err != errNoGradient {
			require.NoError(t, err, "the gradient of %s", b.Name)
			timer.close()
		}
	}
}

// Random layers too, but for windows that are larger than what they slide over.
func TestRandomLayers(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 17))
	run := 0
	for range 120 {
		b := drawLayer(r, 1<<9)
		for _, gradients := range []bool{false, true} {
			timer, err := newTimer(b, gradients)
			if err != nil {
				require.True(t, err == errNoGradient || strings.Contains(err.Error(), "window"), "%s: %v", b.Name, err)
				continue
			}
			run++
			timer.close()
		}
	}
	require.Greater(t, run, 160)
}

// The further configurations of layers can be traced and run.
func TestVariants(t *testing.T) {
	cases, err := variantCases()
	require.NoError(t, err)
	require.NotEmpty(t, cases)
	for i, c := range cases {
		b, err := c.at(1 << 10)
		require.NoError(t, err)
		timer, err := newTimer(b, i%4 == 0)
		if err != errNoGradient {
			require.NoError(t, err, c.name)
			timer.close()
		}
	}
}

// TestRandomCallsAreOfTheType: with -dtype, all floats that random calls read have that type, functions of many kinds
// among them, and every one can be timed; without it, types of all kinds are drawn.
func TestRandomCallsAreOfTheType(t *testing.T) {
	defer func(before string) { precision = before }(precision)
	for _, d := range []string{"bfloat16", "float16", "float64", "int8", "float32"} {
		precision = d
		names, types := map[string]bool{}, map[string]bool{}
		require.NoError(t, eachRandomCall(7, 150, 1<<10, func(b benchmark, gradients bool) error {
			names[b.Function] = true
			for _, a := range b.Arguments {
				for _, x := range a.Tensors {
					if types[x.DType] = true; strings.Contains(x.DType, "float") && d != "float32" {
						assert.Equal(t, d, x.DType, b.Name)
					}
				}
			}
			timer, err := newTimer(b, gradients)
			if err != errNoGradient && err != errTooLarge && assert.NoError(t, err, b.Name) {
				timer.close()
			}
			return nil
		}))
		assert.True(t, types[d])
		assert.Greater(t, len(names), 40, d)
		if d == "float32" {
			assert.Greater(t, len(types), 5)
		}
	}
}
