package main

import (
	"os/exec"
	"regexp"
	"strings"
	"unicode/utf8"
)

// Width is the number of columns that a line of prose has at most. A tab counts as four.
const Width = 120

// tracked lists the files of prose and of Go that belong to the repository, new ones with them.
func tracked(root string) (names []string, err error) {
	command := exec.Command("git", "ls-files", "--cached", "--others", "--exclude-standard", "--deduplicate", "*.go", "*.md")
	command.Dir = root
	output, err := command.Output()
	return strings.Fields(string(output)), err
}

// generated reports whether a program wrote the file.
func generated(text string) bool {
	head, _, _ := strings.Cut(text, "\npackage ")
	return strings.Contains("\n"+head, "\n// Code generated ")
}

func width(s string) int { return utf8.RuneCountInString(s) + 3*strings.Count(s, "\t") }

// tooLong reports whether a line of prose can be made shorter: it is beyond the width and has a place to break.
func tooLong(prefix, words string) bool {
	return width(prefix+words) > Width && strings.Contains(strings.TrimSpace(words), " ")
}

// wrap breaks words into lines; first is the prefix of the first one, rest that of the others.
func wrap(words []string, first, rest string) (lines []string) {
	line := first
	for i, w := range words {
		switch {
		case i == 0:
			line += w
		case width(line+" "+w) <= Width:
			line += " " + w
		default:
			lines, line = append(lines, line), rest+w
		}
	}
	return append(lines, line)
}

var (
	comment = regexp.MustCompile(`^([\t ]*)// (\S.*)$`) // no directive: //go:embed
	listed  = regexp.MustCompile(`^(\s*(?:[-*]|\d+[.)])\s+)(\S.*)$`)
	opens   = regexp.MustCompile(`^(#|\[[^\]]+\]: |(Output|Unordered output):)`) // a heading, a link, what an example prints
)

// fillComments fills paragraphs of comments that stand on lines of their own.
func fillComments(text string) string {
	lines := strings.Split(text, "\n")
	var out []string
	for i := 0; i < len(lines); {
		m := comment.FindStringSubmatch(lines[i])
		if m == nil || opens.MatchString(m[2]) || listed.MatchString(m[2]) {
			out = append(out, lines[i])
			i++
			for m != nil && i < len(lines) && strings.HasPrefix(m[2], "Output:") && strings.HasPrefix(strings.TrimLeft(lines[i], "\t "), "//") {
				out = append(out, lines[i]) // up to the end of what is printed
				i++
			}
			continue
		}
		prefix, end, long := m[1]+"// ", i, false
		var words []string
		for ; end < len(lines); end++ {
			n := comment.FindStringSubmatch(lines[end])
			if n == nil || n[1] != m[1] || end > i && (opens.MatchString(n[2]) || listed.MatchString(n[2])) {
				break
			}
			long = long || tooLong(prefix, n[2])
			words = append(words, strings.Fields(n[2])...)
		}
		if long {
			out = append(out, wrap(words, prefix, prefix)...)
		} else {
			out = append(out, lines[i:end]...)
		}
		i = end
	}
	return strings.Join(out, "\n")
}

// fillMarkdown fills paragraphs and items of lists.
func fillMarkdown(text string) string {
	lines := strings.Split(text, "\n")
	var out []string
	code := false
	for i := 0; i < len(lines); {
		line := lines[i]
		fence := strings.HasPrefix(strings.TrimSpace(line), "```")
		if fence {
			code = !code
		}
		if fence || code || !plain(line) {
			out = append(out, line)
			i++
			continue
		}
		first, rest, long := "", "", tooLong("", line)
		words := strings.Fields(line)
		if m := listed.FindStringSubmatch(line); m != nil {
			first, rest, words = m[1], strings.Repeat(" ", len(m[1])), strings.Fields(m[2])
		} else if indent := len(line) - len(strings.TrimLeft(line, " ")); indent > 0 && indent < 4 {
			first, rest = line[:indent], line[:indent]
		}
		end := i + 1
		for ; end < len(lines) && plain(lines[end]) && !listed.MatchString(lines[end]) && !strings.HasPrefix(strings.TrimSpace(lines[end]), "```"); end++ {
			long = long || tooLong("", lines[end])
			words = append(words, strings.Fields(lines[end])...)
		}
		if long {
			out = append(out, wrap(words, first, rest)...)
		} else {
			out = append(out, lines[i:end]...)
		}
		i = end
	}
	return strings.Join(out, "\n")
}

// plain lines of Markdown are text: no tables, headings, quotations, comments, links' targets or indented code.
func plain(line string) bool {
	t := strings.TrimSpace(line)
	if t == "" || strings.HasPrefix(line, "    ") && !listed.MatchString(line) {
		return false
	}
	return !strings.ContainsRune("|#><", rune(t[0])) && !opens.MatchString(t) && !strings.HasPrefix(t, "![") && !strings.HasSuffix(line, "  ")
}
