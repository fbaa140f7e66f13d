package vector

import "strings"

// instructionsPerLine is how many instructions share a line. Programs contain a table of the line numbers of all code,
// which takes two bytes for each instruction that begins a line.
const instructionsPerLine = 32

// shareLines joins successive instructions on one line. A // comment ends a line, since it would hide what follows.
// Instructions that name parameters keep their own lines, for go vet.
func shareLines(text []byte) []byte {
	var out strings.Builder
	onLine := 0
	for line := range strings.Lines(string(text)) {
		if !strings.HasPrefix(line, "\t") || strings.HasPrefix(line, "\t//") || strings.Contains(line, "(FP)") {
			if onLine > 0 {
				out.WriteByte('\n')
			}
			out.WriteString(line)
			onLine = 0
			continue
		}
		if onLine == instructionsPerLine {
			out.WriteByte('\n')
			onLine = 0
		}
		if onLine == 0 {
			out.WriteByte('\t')
		} else {
			out.WriteString("; ")
		}
		out.WriteString(strings.Join(strings.Fields(line), " "))
		if onLine++; strings.Contains(line, "//") {
			onLine = instructionsPerLine
		}
	}
	if onLine > 0 {
		out.WriteByte('\n')
	}
	return []byte(out.String())
}
