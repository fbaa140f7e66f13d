package layers_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers"
)

// A field with a fixed set of words takes a constant or the word itself.
func ExamplePadding() {
	typed := &layers.Conv1D{Filters: 2, KernelSize: []int{3}, Padding: layers.Same}
	word := &layers.Conv1D{Filters: 2, KernelSize: []int{3}, Padding: "same"}
	fmt.Println(typed.Padding == word.Padding, layers.Causal)
	// Output: true causal
}

// TestChoicesFromVariables: words that are only known at run time are converted, and unknown ones are errors at the
// first use.
func TestChoicesFromVariables(t *testing.T) {
	for word, wrong := range map[string]bool{"same": false, "valid": false, "Same": true, "reflect": true} {
		l := &layers.MaxPooling1D{PoolSize: []int{2}, Padding: layers.Padding(word)}
		_, err := layers.InferTypes(l, []ir.Type{{DType: ir.Float32, Shape: ir.Shape{2, 5, 1}}})
		assert.Equal(t, wrong, err != nil, word)
		if wrong {
			assert.ErrorContains(t, err, `unknown Padding "`+word+`"`)
		}
	}
}
