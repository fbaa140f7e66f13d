package layers

import "strings"

const punctuation = "!\"#$%&()*+,-./:;<=>?@[\\]^_`{|}~'"

// standardizer says by what each byte of a text is replaced.
type standardizer struct {
	as    [256]byte
	keep  [256]uint8 // 1, or 0 for what is left out
	space [256]bool  // where TensorFlow splits: blanks of ASCII
	same  bool       // it changes nothing

	before func(text string) string   // a function of the program's in its place, nil for none
	cut    func(text string) []string // a function of the program's that splits, nil for none
}

// newStandardizer returns the standardizer for a name that TextVectorization takes.
func newStandardizer(name string) *standardizer {
	s := &standardizer{same: name == "none"}
	lower, strip := !s.same && name != "strip_punctuation", !s.same && name != "lower"
	for i := range s.as {
		b := byte(i)
		s.as[i], s.keep[i] = b, 1
		if lower && b >= 'A' && b <= 'Z' {
			s.as[i] += 'a' - 'A'
		}
		if strip && strings.IndexByte(punctuation, b) >= 0 {
			s.keep[i] = 0
		}
		s.space[i] = strings.IndexByte("\t\n\v\f\r ", b) >= 0
	}
	return s
}

// standardize returns the text with its bytes replaced.
func (s *standardizer) standardize(text string) string {
	if s.same || text == "" {
		return text
	}
	out, n := make([]byte, len(text)), 0
	for i := range len(text) {
		out[n] = s.as[text[i]]
		n += int(s.keep[text[i]])
	}
	return string(out[:n])
}

// split returns the words of a text, standardized and separated by single spaces, and the position where each begins.
// The last position is where another word would begin. A limit other than 0 ends it early.
func (s *standardizer) split(text string, limit int) (words string, starts []int) {
	out := make([]byte, len(text)+1)
	starts = make([]int, 1, 1+len(text)/6)
	n := 0
	for i := range len(text) {
		b := text[i]
		if s.space[b] {
			if last := starts[len(starts)-1]; n > last {
				out[n] = ' '
				n++
				if starts = append(starts, n); len(starts) == limit+1 && limit > 0 {
					break
				}
			}
			continue
		}
		out[n] = s.as[b]
		n += int(s.keep[b])
	}
	if n > starts[len(starts)-1] {
		starts = append(starts, n+1)
	}
	return string(out[:n]), starts
}

// neighbours returns all word sequences of the given lengths, which share the memory of words.
func neighbours(words string, starts []int, lengths ...int) []string {
	total := 0
	for _, n := range lengths {
		total += max(len(starts)-n, 0)
	}
	out := make([]string, 0, total)
	for _, n := range lengths {
		for i := 0; i+n < len(starts); i++ {
			out = append(out, words[starts[i]:starts[i+n]-1])
		}
	}
	return out
}
