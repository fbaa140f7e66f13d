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

// What the constructors and methods of tf.distribute take has a counterpart, which docs/api.txt lists, or a reason why
// there is none.
func TestMembersHaveCounterparts(t *testing.T) {
	api, err := os.ReadFile("../docs/api.txt")
	require.NoError(t, err)
	list, err := os.ReadFile("testdata/tf_members.txt")
	require.NoError(t, err)
	members := 0
	for line := range strings.Lines(string(list)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		member, counterpart, found := strings.Cut(strings.TrimSpace(line), " | ")
		require.True(t, found, line)
		members++
		if reason, none := strings.CutPrefix(counterpart, "- "); none {
			require.NotEmpty(t, reason, member)
		} else if !strings.Contains("\n"+string(api), "\n"+counterpart) {
			t.Errorf("%s: docs/api.txt has no line that begins with %q", member, counterpart)
		}
	}
	require.Greater(t, members, 80)
}
