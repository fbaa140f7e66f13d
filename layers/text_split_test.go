package layers

import (
	"math/rand/v2"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"
)

// TestTextsAreSplitAsTheLibraryDoes draws texts with spaces, punctuation, capitals and invalid UTF-8, and compares
// words and their n-grams with the results of Go's own functions.
func TestTextsAreSplitAsTheLibraryDoes(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	const from = "aaBz019  \t\n\v\f\r,.!'-\x00\x85\xa0\xffé\u0085"
	for range 3000 {
		raw := make([]byte, r.IntN(40))
		for i := range raw {
			raw[i] = from[r.IntN(len(from))]
		}
		for _, name := range []string{"lower_and_strip_punctuation", "lower", "strip_punctuation", "none"} {
			var kept []byte
			for _, b := range raw {
				if strings.Contains(name, "strip") && strings.IndexByte(punctuation, b) >= 0 {
					continue
				}
				if strings.Contains(name, "lower") && b >= 'A' && b <= 'Z' {
					b += 'a' - 'A'
				}
				kept = append(kept, b)
			}
			by := newStandardizer(name)
			require.Equal(t, string(kept), by.standardize(string(raw)), "%q %s", raw, name)
			words := strings.FieldsFunc(string(kept), func(r rune) bool { return r < 128 && unicode.IsSpace(r) })
			limit := r.IntN(4)
			compact, starts := by.split(string(raw), limit)
			if limit > 0 {
				words = words[:min(limit, len(words))]
			}
			require.Equal(t, append([]string{}, words...), neighbours(compact, starts, 1), "%q %s, at most %d", raw, name, limit)
			var pairs []string
			for i := 0; i+2 <= len(words); i++ {
				pairs = append(pairs, words[i]+" "+words[i+1])
			}
			require.Equal(t, append(append([]string{}, words...), pairs...), neighbours(compact, starts, 1, 2), "%q %s", raw, name)
		}
	}
}
