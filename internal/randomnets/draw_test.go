package randomnets

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// pythonOf returns the Python with Keras; without one the test is skipped.
func pythonOf(t *testing.T) string {
	t.Helper()
	python := os.Getenv("GOKERAS_PYTHON")
	if python == "" {
		t.Skip("needs GOKERAS_PYTHON, a Python with Keras; make random-networks runs it")
	}
	return python
}

// draw has a script draw models with Keras and returns the folder that they are in. NAME_COUNT is how many, NAME_SEED
// the first seed (always the same otherwise), and NAME a folder of models that were drawn before.
func draw(t *testing.T, python, script, name, count string) (folder string) {
	t.Helper()
	if folder = os.Getenv(name); folder != "" {
		return folder
	}
	folder = t.TempDir()
	drawTo(t, python, script, name, count, folder)
	return folder
}

// numberOf returns the number of an environment variable, or another one if it is not set.
func numberOf(t *testing.T, name, otherwise string) int {
	t.Helper()
	n, err := strconv.Atoi(cmp.Or(os.Getenv(name), otherwise))
	require.NoError(t, err, name)
	return n
}

func drawTo(t *testing.T, python, script, name, count, to string) {
	t.Helper()
	seed := "1000000"
	if s := os.Getenv(name + "_COUNT"); s != "" {
		count = s
	}
	if s := os.Getenv(name + "_SEED"); s != "" {
		seed = s
	}
	t.Logf("%s from seed %s on", count, seed)
	out, err := exec.Command(python, script, "--count", count, "--seed", seed, "--out", to).CombinedOutput()
	require.NoError(t, err, "%s", out)
}

// openedByKeras has the script open the files that were written here, N.ours.keras and N.ours.weights.h5 in the folder,
// with Keras: there must be some, all must open, and what they compute must be what the script expects.
func openedByKeras(t *testing.T, python, script, folder string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*.ours.keras"))
	require.NoError(t, err)
	weights, err := filepath.Glob(filepath.Join(folder, "*.ours.weights.h5"))
	require.NoError(t, err)
	files = append(files, weights...)
	require.NotEmpty(t, files, "nothing was written for Keras to open")
	out, err := exec.Command(python, script, "--check", folder).Output()
	require.NoError(t, err, "%s", out)
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	for _, line := range lines {
		if strings.HasPrefix(line, "model of seed") {
			t.Error("Keras, with our file: ", line)
		}
	}
	opened := 0
	_, err = fmt.Sscanf(lines[len(lines)-1], "opened %d", &opened)
	require.NoError(t, err, "the last line of %s --check: %s", script, lines[len(lines)-1])
	assert.Equal(t, len(files), opened, "files that Keras opened")
}
