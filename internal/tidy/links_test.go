package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var (
	link      = regexp.MustCompile(`\]\(([^()\s]+)\)`)
	quoted    = regexp.MustCompile("`[^`]*`")
	noAnchors = regexp.MustCompile(`[^\p{L}\p{N}_ -]`) // what the anchor of a heading leaves out
)

// anchors returns those of the headings of a page, as GitHub makes them.
func anchors(text string) map[string]bool {
	all := map[string]bool{}
	for _, line := range outsideBlocks(text) {
		if heading, ok := strings.CutPrefix(line, "#"); ok {
			heading = strings.TrimSpace(strings.TrimLeft(heading, "#"))
			all[strings.ReplaceAll(noAnchors.ReplaceAllString(strings.ToLower(heading), ""), " ", "-")] = true
		}
	}
	return all
}

func TestAnchors(t *testing.T) {
	require.Equal(t, map[string]bool{"a-page": true, "the-cpu-backend-kernelscpu": true, "3x3-once-more": true},
		anchors("# A page\n```\n# no heading\n```\n## The CPU backend (`kernels/cpu`)\n### 3x3, once more\n"))
}

// Every link of the documentation leads to a file, and to a heading of it if it says one.
func TestLinks(t *testing.T) {
	count := 0
	for _, page := range pages(t) {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		for i, line := range outsideBlocks(string(text)) {
			for _, m := range link.FindAllStringSubmatch(quoted.ReplaceAllString(line, ""), -1) {
				if strings.Contains(m[1], "://") {
					continue
				}
				count++
				name, anchor, _ := strings.Cut(m[1], "#")
				to := page
				if name != "" {
					to = filepath.Join(filepath.Dir(page), name)
				}
				target, err := os.Stat(to)
				if err != nil {
					t.Errorf("%s:%d: %s leads nowhere", filepath.Base(page), i+1, m[1])
				} else if anchor != "" && !target.IsDir() {
					text, err := os.ReadFile(to)
					require.NoError(t, err)
					if !anchors(string(text))[anchor] {
						t.Errorf("%s:%d: %s has no heading #%s", filepath.Base(page), i+1, filepath.Base(to), anchor)
					}
				}
			}
		}
	}
	require.Greater(t, count, 50)
}
