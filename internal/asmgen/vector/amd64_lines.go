package vector

import "strings"

// instructionsPerLine is how many instructions share a line. Programs have a table of the lines of all code, which
// takes two bytes for each instruction that begins one.
const instructionsPerLine = 32

// shareLines puts instructions that follow each other onto one line, which ends with the first comment by slashes: it
// would hide what comes after it. Instructions that name parameters keep lines of their own, for go vet.
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
