package walkthroughs

import (
	"encoding/json"
	"flag"
	"go/format"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const root = "../.."

var whole = flag.Bool("whole", false, "compile what the patches make, and run its tests")

// patch is one worked example.
type patch struct {
	packages []string // that it changes
	run      string   // the tests that must pass
	bound    int      // of the number of files, tests and what is generated not counted
	files    []string
}

// bars are the largest bounds that the issues of the project allow.
var bars = map[string]int{"op": 6, "pattern": 3, "type": 5}

// counted lists the files of a patch that somebody had to know of: no tests, nothing that make writes.
func (p patch) counted() []string {
	return slices.DeleteFunc(slices.Clone(p.files), func(file string) bool {
		return strings.HasSuffix(file, "_test.go") || strings.Contains(file, "/testdata/") || file == "docs/api.txt"
	})
}

var (
	header = regexp.MustCompile(`(?m)^(Packages|Run|Files): (.*)$`)
	target = regexp.MustCompile(`(?m)^\+\+\+ b/(\S+)$`)
)

func read(t *testing.T, text string) (p patch) {
	t.Helper()
	head, _, ok := strings.Cut(text, "\ndiff --git ")
	require.True(t, ok, "a patch begins with a description, and has a difference")
	for _, m := range header.FindAllStringSubmatch(head, -1) {
		switch m[1] {
		case "Packages":
			p.packages = strings.Fields(m[2])
		case "Run":
			p.run = m[2]
		case "Files":
			n, err := strconv.Atoi(m[2])
			require.NoError(t, err)
			p.bound = n
		}
	}
	for _, m := range target.FindAllStringSubmatch(text, -1) {
		p.files = append(p.files, m[1])
	}
	require.NotEmpty(t, p.packages)
	require.NotEmpty(t, p.run)
	require.NotEmpty(t, p.files)
	return p
}

// apply returns a folder with the files of a patch as it leaves them.
func apply(t *testing.T, name string, p patch) (string, error) {
	t.Helper()
	folder := t.TempDir()
	for _, file := range p.files {
		text, err := os.ReadFile(filepath.Join(root, file))
		if os.IsNotExist(err) {
			continue // a new one
		}
		require.NoError(t, err)
		copied := filepath.Join(folder, file)
		require.NoError(t, os.MkdirAll(filepath.Dir(copied), 0o777))
		require.NoError(t, os.WriteFile(copied, text, 0o666))
	}
	path, err := filepath.Abs(name)
	require.NoError(t, err)
	command := exec.Command("git", "apply", "-C1", path) // lines may have moved
	command.Dir = folder
	command.Env = append(os.Environ(), "GIT_CEILING_DIRECTORIES="+filepath.Dir(folder))
	output, err := command.CombinedOutput()
	if err != nil {
		return string(output), err
	}
	return folder, nil
}

// Every patch applies to the files as they are now, and touches no more of them than its bound.
func TestPatches(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git, which applies the patches, is not installed")
	}
	names, err := filepath.Glob("*.patch")
	require.NoError(t, err)
	require.NotEmpty(t, names)
	page, err := os.ReadFile(filepath.Join(root, "CONTRIBUTING.md"))
	require.NoError(t, err)
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			text, err := os.ReadFile(name)
			require.NoError(t, err)
			p := read(t, string(text))
			require.LessOrEqual(t, len(p.counted()), p.bound, "the change touches too many files: %v", p.counted())
			if bar, ok := bars[strings.TrimSuffix(name, ".patch")]; ok {
				require.LessOrEqual(t, p.bound, bar, "make the change smaller, not its bound larger")
			}
			require.Contains(t, string(page), "internal/walkthroughs/"+name, "CONTRIBUTING.md does not name the patch")
			folder, err := apply(t, name, p)
			require.NoError(t, err, "%s does not apply any more: walk through the change again, and write down what it takes now: %s", name, folder)
			formatted(t, folder, p)
			if *whole {
				compile(t, folder, p)
			}
		})
	}
}

// formatted checks that the files of a patch are as gofmt leaves them.
func formatted(t *testing.T, folder string, p patch) {
	t.Helper()
	for _, file := range p.files {
		if strings.HasSuffix(file, ".go") {
			text, err := os.ReadFile(filepath.Join(folder, file))
			require.NoError(t, err)
			want, err := format.Source(text)
			require.NoError(t, err)
			require.Equal(t, string(want), string(text), "gofmt disagrees with %s", file)
		}
	}
}

// compile runs the tests of a patch, with its files in place of those of the tree.
func compile(t *testing.T, folder string, p patch) {
	t.Helper()
	top, err := filepath.Abs(root)
	require.NoError(t, err)
	replace := map[string]string{}
	for _, file := range p.files {
		replace[filepath.Join(top, file)] = filepath.Join(folder, file)
	}
	text, err := json.Marshal(map[string]any{"Replace": replace})
	require.NoError(t, err)
	overlay := filepath.Join(folder, "overlay.json")
	require.NoError(t, os.WriteFile(overlay, text, 0o666))
	var there []string
	for _, pkg := range p.packages {
		if _, err := os.Stat(filepath.Join(top, pkg)); err == nil {
			there = append(there, pkg)
			continue
		}
		output, err := testNew(top, folder, overlay, pkg, p.run)
		require.NoError(t, err, "%s", output)
		require.NotContains(t, string(output), "no tests to run", "Run names no test of %s", pkg)
	}
	if there == nil {
		return
	}
	command := exec.Command("go", append([]string{"test", "-short", "-count=1", "-overlay", overlay, "-run", p.run}, there...)...)
	command.Dir = top
	output, err := command.CombinedOutput()
	require.NoError(t, err, "%s", output)
	require.NotContains(t, string(output), "no tests to run", "Run names no test of one of the packages")
}

// testNew runs tests of a package that a patch adds. The tree has no folder for it, so its program runs among the
// copied files.
func testNew(top, folder, overlay, pkg, run string) ([]byte, error) {
	program := filepath.Join(folder, "program.test")
	build := exec.Command("go", "test", "-c", "-vet=off", "-o", program, "-overlay", overlay, pkg) // vet enters the folder
	build.Dir = top
	if output, err := build.CombinedOutput(); err != nil {
		return output, err
	}
	command := exec.Command(program, "-test.short", "-test.run", run)
	command.Dir = filepath.Join(folder, pkg)
	return command.CombinedOutput()
}

// A patch that does not fit is noticed.
func TestStalePatch(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git, which applies the patches, is not installed")
	}
	name := filepath.Join(t.TempDir(), "stale.patch")
	text := "Packages: ./x\nRun: Test\nFiles: 1\n\ndiff --git a/go.mod b/go.mod\n--- a/go.mod\n+++ b/go.mod\n@@ -1,3 +1,4 @@\n module nobody/has/this\n \n go 1.0\n+// new\n"
	require.NoError(t, os.WriteFile(name, []byte(text), 0o666))
	_, err := apply(t, name, read(t, text))
	require.Error(t, err)
}
