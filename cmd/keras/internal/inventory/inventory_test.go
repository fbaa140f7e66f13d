package inventory_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/cmd/keras/internal/inventory"
)

var update = flag.Bool("update", false, "write docs/keras.md and the table in README.md")

const root = "../../../.."

// The table in the README stands between these lines.
const begin, end = "<!-- generated: symbols -->\n", "<!-- end -->"

func TestDocumentsAreUpToDate(t *testing.T) {
	rows, err := inventory.Rows(root)
	require.NoError(t, err)
	members, err := inventory.Members(root)
	require.NoError(t, err)
	compare(t, filepath.Join(root, "docs", "keras.md"), func(string) string { return inventory.Document(rows, members) })
	compare(t, filepath.Join(root, "README.md"), func(text string) string {
		before, rest, found := strings.Cut(text, begin)
		require.True(t, found, "README.md has no line %q", begin)
		_, after, found := strings.Cut(rest, end)
		require.True(t, found)
		return before + begin + inventory.Summary(rows) + end + after
	})
}

func compare(t *testing.T, path string, make func(old string) string) {
	t.Helper()
	old, err := os.ReadFile(path)
	if !*update {
		require.NoError(t, err)
	}
	text := make(string(old))
	if *update && text != string(old) {
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	}
	if !*update && text != string(old) {
		t.Errorf("%s is out of date; run: go test ./cmd/keras/internal/inventory -update", path)
	}
}

// TestTiers: the first tiers of the inventory are complete.
func TestTiers(t *testing.T) {
	rows, err := inventory.Rows(root)
	require.NoError(t, err)
	for _, r := range rows {
		switch r.Module {
		case "losses", "metrics", "optimizers", "optimizers.schedules", "regularizers", "constraints", "activations", "applications":
			assert.True(t, r.Ours != "" || r.Difference != "", "nothing stands for %s", r)
		}
	}
}
