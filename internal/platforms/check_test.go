package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A function that one platform alone has is missing on the others, in whatever way it is used; what imports the package
// is read all the same.
func TestCheck(t *testing.T) {
	folder := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":               "module example.org/m\n\ngo 1.24\n",
		"only/only_windows.go": "package only\n\nfunc Windows() int { return 1 }\n",
		"only/only.go":         "package only\n\nfunc All() int { return 2 }\n",
		"use/use.go":           "package use\n\nimport (\n\t\"os\"\n\n\t\"example.org/m/only\"\n)\n\nvar X = only.All() + only.Windows() + os.Getpid()\n",
		"above/above.go":       "package above\n\nimport \"example.org/m/use\"\n\nvar Y int = use.X\n",
		"size/size_arm64.go":   "package size\n\nfunc routine(x []float32)\n",
		"size/size.go":         "package size\n\nfunc F() { routine(nil) }\n",
	} {
		path := filepath.Join(folder, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o777))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o666))
	}
	for platform, want := range map[string][]string{
		"windows/amd64": {"undefined: routine"},
		"windows/arm64": {},
		"darwin/arm64":  {"undefined: only.Windows"},
		"linux/amd64":   {"undefined: only.Windows", "undefined: routine"},
	} {
		problems, err := check(folder, platform, "./...")
		require.NoError(t, err, platform)
		require.Len(t, problems, len(want), "%s: %v", platform, problems)
		for _, text := range want {
			found := false
			for _, p := range problems {
				found = found || strings.Contains(p.Error(), text)
			}
			require.True(t, found, "%s: %v lacks %q", platform, problems, text)
		}
	}
	_, err := check(folder, "linux", "./...")
	require.ErrorContains(t, err, "not a system and a processor")
	_, err = check(folder, "linux/pdp11", "./...")
	require.Error(t, err)
}
