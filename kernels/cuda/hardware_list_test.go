//go:build linux

package cuda

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Every test for a GPU is run by make gpu, by its name, or by make gpu-many: a test that none runs would be skipped
// everywhere.
func TestEveryHardwareTestIsRun(t *testing.T) {
	script, err := os.ReadFile("../../internal/gpu.sh")
	require.NoError(t, err)
	makefile, err := os.ReadFile("../../Makefile")
	require.NoError(t, err)
	many := regexp.MustCompile(`gpu\.sh build/gpu-many '(.*)'`).FindSubmatch(makefile)
	require.NotNil(t, many, "make gpu-many names the tests that it runs")
	runsMany := regexp.MustCompile("^" + string(many[1]))
	files, err := filepath.Glob("*_test.go")
	require.NoError(t, err)
	found := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, name := range regexp.MustCompile(`(?m)^func (TestHardware\w+)\(t \*testing\.T\)`).FindAllSubmatch(text, -1) {
			found++
			if test := string(name[1]); !strings.Contains(string(script), "^"+test+"$") && !strings.Contains(string(script), "^"+test+`\$`) {
				require.Regexp(t, runsMany, test, "%s: neither make gpu nor make gpu-many runs it", file)
			}
		}
	}
	require.Greater(t, found, 10)
}
