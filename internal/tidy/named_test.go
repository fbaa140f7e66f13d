package main

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var named = regexp.MustCompile("`((?:[a-zA-Z0-9_.*{},-]+/)*[a-zA-Z0-9_*{},-]+\\.(?:go|sh|md|py|mlir|txt|s|c))`")

// namedFiles returns the names of files between backquotes, with the lines on which they stand.
func namedFiles(text string) map[string]int {
	found := map[string]int{}
	code := false
	for i, line := range strings.Split(text, "\n") {
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			code = !code
		}
		if code {
			continue
		}
		for _, m := range named.FindAllStringSubmatch(line, -1) {
			found[m[1]] = i + 1
		}
	}
	return found
}

// expand turns {a,b} into the names that a shell makes of it.
func expand(pattern string) []string {
	before, rest, ok := strings.Cut(pattern, "{")
	if !ok {
		return []string{pattern}
	}
	inside, after, _ := strings.Cut(rest, "}")
	var out []string
	for _, choice := range strings.Split(inside, ",") {
		out = append(out, expand(before+choice+after)...)
	}
	return out
}

// exists reports whether a file of the repository has the name: its whole path, or the end of one where the text around
// it says the rest.
func exists(names []string, name string) bool {
	for _, n := range names {
		for tail := n; ; {
			if ok, _ := path.Match(name, tail); ok {
				return true
			}
			_, rest, more := strings.Cut(tail, "/")
			if !more {
				break
			}
			tail = rest
		}
	}
	return false
}

func TestExists(t *testing.T) {
	names := []string{"keras/fit.go", "keras/ops/contract.go", "layers/operation_shape.go"}
	for name, want := range map[string]bool{
		"keras/fit.go": true, "fit.go": true, "ops/contract.go": true, "keras/contract.go": false, "operation_*.go": true, "step.go": false, "it.go": false,
	} {
		require.Equal(t, want, exists(names, name), name)
	}
	require.Equal(t, []string{"a/x.go", "a/y.go"}, expand("a/{x,y}.go"))
	require.Equal(t, map[string]int{"a/b.go": 1, "c_*.go": 5}, namedFiles("see `a/b.go` and `x.y`\n```\n`d.go`\n```\n`c_*.go`"))
}

// placeholders stand for names in instructions.
var placeholders = map[string]bool{"layers/NAME.go": true}

// Every file that the documentation names exists.
func TestNamedFilesExist(t *testing.T) {
	names, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	require.NoError(t, err)
	for _, page := range []string{"CONTRIBUTING.md", "README.md"} {
		names = append(names, filepath.Join(root, page))
	}
	var files []string
	require.NoError(t, filepath.WalkDir(root, func(p string, d os.DirEntry, err error) error {
		if err == nil && d.IsDir() && d.Name() == ".git" {
			return filepath.SkipDir
		}
		if err == nil && !d.IsDir() {
			rel, _ := filepath.Rel(root, p) // both begin with root
			files = append(files, filepath.ToSlash(rel))
		}
		return err
	}))
	count := 0
	for _, page := range names {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		for name, line := range namedFiles(string(text)) {
			if placeholders[name] {
				continue
			}
			count++
			for _, n := range expand(name) {
				if !exists(files, n) {
					t.Errorf("%s:%d: there is no file %s", filepath.Base(page), line, n)
				}
			}
		}
	}
	require.Greater(t, count, 100)
}
