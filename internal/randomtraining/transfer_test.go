package randomtraining

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/internal/recorded"
	"github.com/gokeras/gokeras/keras"
)

// transfer is a model, and what is in it after it has read files of another one, which transfer.py drew.
type transfer struct {
	Number, Drawn int
	What          string // how the models differ
	Model         json.RawMessage
	Seed          uint64
	Read          []struct {
		Kind         string
		Skip, ByName bool
		Error        string
		State        [][]number
	}
}

// TestFreshTransfer has transfer.py draw models, and others that read their files. RANDOM_TRANSFER_COUNT is how many,
// RANDOM_TRANSFER_SEED the first seed, RANDOM_TRANSFER a folder that was drawn before.
func TestFreshTransfer(t *testing.T) {
	folder := os.Getenv("RANDOM_TRANSFER")
	if folder == "" {
		folder = t.TempDir()
		out, err := exec.CommandContext(t.Context(), freshPython(t), "transfer.py", environment("RANDOM_TRANSFER_COUNT", "20"), environment("RANDOM_TRANSFER_SEED", "1000000"), folder).CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	transferred(t, folder)
}

// TestTransfer reads files of models that were drawn and recorded before.
func TestTransfer(t *testing.T) { transferred(t, recorded.Folder(t, "testdata/transfer.tar.gz")) }

func transferred(t *testing.T, folder string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(folder, "cases.json"))
	require.NoError(t, err)
	var all []transfer
	require.NoError(t, json.Unmarshal(text, &all))
	require.NotEmpty(t, all)
	for _, c := range all {
		for i := range c.Read {
			if text := c.read(t, folder, i); text != "" {
				t.Errorf("case of seed %d, which differs in %s, %s, skipping %v, by name %v: %s", c.Drawn, c.What, c.Read[i].Kind, c.Read[i].Skip, c.Read[i].ByName, text)
			}
		}
	}
}

// read reads a file into the model and compares the weights.
func (c *transfer) read(t *testing.T, folder string, i int) string {
	m, err := keras.ModelFromJSON(c.Model)
	require.NoError(t, err)
	require.NoError(t, setWeights(m, c.Seed))
	var options []keras.LoadWeightsOption
	want := c.Read[i]
	if want.Skip {
		options = append(options, keras.SkipMismatch())
	}
	if want.ByName {
		options = append(options, keras.ByName())
	}
	err = m.LoadWeights(filepath.Join(folder, fmt.Sprintf("%d.%s", c.Number, want.Kind)), options...)
	switch {
	case err != nil && want.Error == "":
		return "Keras reads it: " + err.Error()
	case err == nil && want.Skip && strings.Contains(want.Error, "Weight count mismatch"):
		return "" // Keras skips no layers with another number of weights in the order of an .h5 file
	case err == nil && want.Error != "":
		return "read, but Keras refuses: " + want.Error
	case err != nil:
		return ""
	}
	arrays, err := m.GetWeights()
	require.NoError(t, err)
	return (&caller{c: &sequence{Wide: true, Exact: true}}).same(arrays, want.State)
}
