// Package snippets reads the code blocks of the documentation, so that a test can compile and run them.
//
// A block of Go is a whole program, or declarations, and is compiled as it stands, with the imports that it needs.
// Hidden comments in the page give the context that a block lacks:
//
//	<!-- snippet: with var x, y [][]float32 -->     declarations that the page takes for granted, anywhere in it
//	<!-- snippet: in func(ctx context.Context) error; uses history -->     above a block: its statements stand in such a function; names that end unused
//	<!-- snippet: each line; uses strategy, err -->     above a block: each of its lines is a way of its own
//	<!-- snippet: run train(context.Background()) -->     above a block: the page's program calls this
//	<!-- snippet: fragment REASON -->     above a block: it is not compiled, or its commands are not looked up, and why
package snippets

import (
	"fmt"
	"regexp"
	"strings"
)

// Block is a block of code in a page.
type Block struct {
	Page     string
	Line     int    // of its first line
	Language string // "" is that of indented blocks and of fences that name none
	Text     string
	How      string // of the comment above it
}

func (b Block) String() string { return fmt.Sprintf("%s:%d", b.Page, b.Line) }

// Page is what a page holds.
type Page struct {
	Name   string
	Blocks []Block
	With   []string // declarations that it takes for granted
	Inline []Block  // code within sentences
}

var (
	comment = regexp.MustCompile(`^\s*<!-- snippet: (.*\S) *-->\s*$`)
	fence   = regexp.MustCompile("^\\s*```\\s*(\\S*)\\s*$")
	other   = regexp.MustCompile("^\\s*(```|~~~)") // what readers take for a fence
	inline  = regexp.MustCompile("`([^`]+)`")
)

// Parse reads a page of Markdown.
func Parse(name, text string) (Page, error) {
	p := Page{Name: name}
	lines := strings.Split(text, "\n")
	how, blank := "", true
	for i := 0; i < len(lines); i++ {
		line := lines[i]
		if m := comment.FindStringSubmatch(line); m != nil {
			if with, ok := strings.CutPrefix(m[1], "with "); ok {
				p.With = append(p.With, with)
			} else {
				how = m[1]
			}
			continue
		}
		if m := fence.FindStringSubmatch(line); m != nil {
			begin := i + 1
			for i++; i < len(lines) && !fence.MatchString(lines[i]) && !other.MatchString(lines[i]); i++ {
			}
			if i == len(lines) || fence.FindStringSubmatch(lines[i]) == nil || fence.FindStringSubmatch(lines[i])[1] != "" {
				return p, fmt.Errorf("%s:%d: the block has no end", name, begin)
			}
			p.Blocks = append(p.Blocks, Block{name, begin + 1, m[1], strings.Join(lines[begin:i], "\n"), how})
			how, blank = "", false
			continue
		}
		if other.MatchString(line) {
			return p, fmt.Errorf("%s:%d: expected ``` and the language alone, received %q", name, i+1, line)
		}
		if how != "" && strings.TrimSpace(line) != "" {
			return p, fmt.Errorf("%s:%d: a block of code must follow the comment %q", name, i+1, how)
		}
		indented := strings.HasPrefix(line, "    ")
		if indented && blank && !strings.HasPrefix(strings.TrimSpace(line), "-") {
			begin := i
			for i+1 < len(lines) && strings.HasPrefix(lines[i+1], "    ") {
				i++
			}
			p.Blocks = append(p.Blocks, Block{name, begin + 1, "", strings.Join(lines[begin:i+1], "\n"), ""})
			continue
		}
		for _, m := range inline.FindAllStringSubmatch(line, -1) {
			p.Inline = append(p.Inline, Block{Page: name, Line: i + 1, Text: m[1]})
		}
		blank = strings.TrimSpace(line) == "" || indented && blank
	}
	return p, nil
}
