package distribute_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The guide's table has a row for every public symbol of tf.distribute (TensorFlow 2.21; the list is what dir() gives
// for the module, its submodules and the classes that users call).
func TestGuideNamesEverySymbol(t *testing.T) {
	guide, err := os.ReadFile("../docs/distribute.md")
	require.NoError(t, err)
	_, table, found := strings.Cut(string(guide), "## TensorFlow symbol")
	require.True(t, found)
	list, err := os.ReadFile("testdata/tf_symbols.txt")
	require.NoError(t, err)
	symbols := strings.Fields(string(list))
	require.Greater(t, len(symbols), 150)
	named := map[string]bool{}
	for _, word := range strings.FieldsFunc(table, func(r rune) bool {
		return !(r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z')
	}) {
		named[word] = true
	}
	for _, symbol := range symbols {
		last := symbol[strings.LastIndexByte(symbol, '.')+1:]
		if !named[last] {
			t.Errorf("%s is not in the table", symbol)
		}
	}
}
