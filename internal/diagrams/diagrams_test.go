package main

import (
	"encoding/xml"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The pictures are those of the texts, and every one of them is shown somewhere.
func TestPictures(t *testing.T) {
	folder := filepath.Join("..", "..", "docs")
	names, err := filepath.Glob(filepath.Join(folder, "diagrams", "*.txt"))
	require.NoError(t, err)
	require.NotEmpty(t, names)
	pages := ""
	for _, pattern := range []string{"*.md", "../*.md"} {
		found, err := filepath.Glob(filepath.Join(folder, pattern))
		require.NoError(t, err)
		for _, page := range found {
			text, err := os.ReadFile(page)
			require.NoError(t, err)
			pages += string(text)
		}
	}
	for _, name := range names {
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		d, err := parse(string(text))
		require.NoError(t, err, name)
		want := d.svg()
		require.NoError(t, xml.Unmarshal([]byte(want), new(struct{})), name)
		got, err := os.ReadFile(picture(name))
		require.NoError(t, err)
		require.Equal(t, want, string(got), "%s is stale: go run ./internal/diagrams", picture(name))
		require.Contains(t, pages, "diagrams/"+filepath.Base(picture(name)), "no page shows the picture")
	}
}

// Boxes do not overlap, and arrows end at their borders.
func TestArrange(t *testing.T) {
	d, err := parse("title: T\nrow: a = A / x<y | | b = B\nrow: c = C\narrow: a -> b\narrow: b -> c: down\narrow: c -> b: up\n")
	require.NoError(t, err)
	a, b, c := d.rows[0][0], d.rows[0][2], d.rows[1][0]
	require.GreaterOrEqual(t, b.x-a.x-a.width, gap)
	require.Less(t, b.x+b.width, total)
	require.Greater(t, c.y, b.y+boxHeight)
	x1, y1, x2, y2 := d.ends(d.arrows[0])
	require.Equal(t, []int{a.x + a.width, b.x}, []int{x1, x2})
	require.Equal(t, y1, y2)
	down, _, _, y := d.ends(d.arrows[1])
	up, from, _, _ := d.ends(d.arrows[2])
	require.Equal(t, c.y, y)
	require.Equal(t, c.y, from)
	require.NotEqual(t, down, up)
	require.Contains(t, d.svg(), "x&lt;y")
	require.Equal(t, 3, strings.Count(d.svg(), `class="box"`))
}

func TestMistakes(t *testing.T) {
	for text, want := range map[string]string{
		"title: T":                                                    "needs a title and a row",
		"title: T\nrow: a = A\nline":                                  "3: received \"line\"",
		"title: T\nrow: a = A | a = B":                                "2: the box \"a\"",
		"title: T\nrow: a = A\narrow: a -> b":                         "3: received the arrow",
		"title: T\nrow: a = A\narrow: a -> a":                         "3: the arrow",
		"title: T\nrow: a = A\nrow: b = B\nrow: c = C\narrow: a -> c": "5: the arrow",
	} {
		_, err := parse(text)
		require.ErrorContains(t, err, want)
	}
}
