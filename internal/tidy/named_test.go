package main

import (
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var named = regexp.MustCompile("`((?:[a-zA-Z0-9_.*{},-]+/)*[a-zA-Z0-9_*{},-]+\\.(?:go|sh|md|py|mlir|txt|s|c))`")

// namedFolder is a folder between backquotes.
var namedFolder = regexp.MustCompile("`((?:[a-zA-Z0-9_-]+/)+[a-zA-Z0-9_-]+)`")

// outsideBlocks returns the lines of a page, empty ones in place of blocks of code.
func outsideBlocks(text string) []string {
	lines := strings.Split(text, "\n")
	code := false
	for i, line := range lines {
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			code = !code
		}
		if code {
			lines[i] = ""
		}
	}
	return lines
}

// found returns what a pattern finds in a page, with the lines on which it stands.
func found(pattern *regexp.Regexp, text string) map[string]int {
	places := map[string]int{}
	for i, line := range outsideBlocks(text) {
		for _, m := range pattern.FindAllStringSubmatch(line, -1) {
			places[m[1]] = i + 1
		}
	}
	return places
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
	require.Equal(t, map[string]int{"a/b.go": 1, "c_*.go": 5}, found(named, "see `a/b.go` and `x.y`\n```\n`d.go`\n```\n`c_*.go`"))
}

// placeholders stand for names in instructions.
var placeholders = map[string]bool{"layers/NAME.go": true}

// pages returns the pages of the documentation.
func pages(t *testing.T) []string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	require.NoError(t, err)
	for _, page := range []string{"CONTRIBUTING.md", "README.md"} {
		names = append(names, filepath.Join(root, page))
	}
	return names
}

// present returns the files of the repository that are there.
func present(t *testing.T) (files []string) {
	t.Helper()
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
	return files
}

// Every file that the documentation names exists.
func TestNamedFilesExist(t *testing.T) {
	files, count := present(t), 0
	for _, page := range pages(t) {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		for name, line := range found(named, string(text)) {
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

// Every folder exists that is named by the pages that say where the code is.
func TestNamedFoldersExist(t *testing.T) {
	folders := map[string]bool{}
	for _, name := range present(t) {
		for name = path.Dir(name); name != "."; name = path.Dir(name) {
			folders[name] = true
		}
	}
	names := slices.Collect(maps.Keys(folders))
	for _, page := range []string{"architecture.md", "cpu.md"} {
		text, err := os.ReadFile(filepath.Join(root, "docs", page))
		require.NoError(t, err)
		all := found(namedFolder, string(text))
		require.Greater(t, len(all), 10, page)
		for name, line := range all {
			if !exists(names, name) {
				t.Errorf("%s:%d: there is no folder %s", page, line, name)
			}
		}
	}
}
