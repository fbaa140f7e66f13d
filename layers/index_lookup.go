package layers

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
)

// lookup is what StringLookup, IntegerLookup and TextVectorization share: a vocabulary whose entries are numbered in
// this order:
//
//	[mask token]   number 0, only with a MaskToken and OutputMode "int"
//	OOV buckets    one for each of NumOOVIndices, for tokens that the vocabulary does not have
//	tokens         in the order of the vocabulary
type lookup[T cmp.Ordered] struct {
	maxTokens   int
	oov         int // number of buckets
	mask        *T
	unknown     T // the OOV token
	fixed       []T
	fixedIDF    []float64
	invert      bool
	mode        OutputMode
	padToMax    bool
	describe    func(T) string // of a token in messages
	oovBucket   func(T) int64  // of a token among several buckets
	frozenDepth int            // size of the vocabulary by a configuration, before the vocabulary itself is known
}

// table is a vocabulary.
type table[T cmp.Ordered] struct {
	tokens []T // without special ones
	index  map[T]int64
	idf    []float64 // of all numbers, special ones included
}

// maxBuckets limits the number of OOV buckets, because vocabularies list each of them.
const maxBuckets = 1 << 24

// errNoVocabulary is the error of a layer that was neither given words nor adapted. Without the error, every word would
// silently be unknown.
var errNoVocabulary = errors.New("has no vocabulary yet; call Adapt with data before the model runs, or set Vocabulary")

// check reports settings that contradict each other.
func (l *lookup[T]) check() error {
	switch {
	case l.maxTokens < 0 || l.maxTokens == 1:
		return fmt.Errorf("MaxTokens must be above 1, or 0 for no limit; received %d", l.maxTokens)
	case l.padToMax && l.maxTokens == 0:
		return fmt.Errorf("PadToMaxTokens needs MaxTokens")
	case l.oov < 0:
		return fmt.Errorf("NumOOVIndices must not be negative, received %d", l.oov)
	case l.oov > maxBuckets:
		return fmt.Errorf("NumOOVIndices must be at most %d, received %d", maxBuckets, l.oov)
	case !slices.Contains([]OutputMode{IntMode, OneHotMode, MultiHotMode, CountMode, TFIDFMode}, l.mode):
		return fmt.Errorf("unknown OutputMode %q; use %q, %q, %q, %q or %q", l.mode, IntMode, OneHotMode, MultiHotMode, CountMode, TFIDFMode)
	case l.invert && l.mode != IntMode:
		return fmt.Errorf("OutputMode must be %q with Invert, received %q", IntMode, l.mode)
	case l.fixedIDF != nil && l.mode != TFIDFMode:
		return fmt.Errorf("IDFWeights are used with OutputMode %q only, received %q", TFIDFMode, l.mode)
	}
	return nil
}

// firstBucket is the number of the first OOV bucket.
func (l *lookup[T]) firstBucket() int {
	if l.mask != nil && l.mode == IntMode {
		return 1
	}
	return 0
}

// special returns the tokens that precede the vocabulary.
func (l *lookup[T]) special() []T {
	var out []T
	if l.firstBucket() == 1 {
		out = append(out, *l.mask)
	}
	return append(out, slices.Repeat([]T{l.unknown}, l.oov)...)
}

// size returns the number of entries of a table, including special ones.
func (l *lookup[T]) size(t *table[T]) int {
	n := l.firstBucket() + l.oov
	if t != nil {
		n += len(t.tokens)
	}
	return n
}

// depth returns the length of the rows in modes other than "int", or 0 while it is unknown.
func (l *lookup[T]) depth(t *table[T]) int {
	switch {
	case l.padToMax:
		return l.maxTokens
	case t == nil:
		return l.frozenDepth
	}
	return l.size(t)
}

// make returns the table of a vocabulary, which may begin with the special tokens.
func (l *lookup[T]) make(vocabulary []T, idf []float64) (*table[T], error) {
	if err := l.check(); err != nil {
		return nil, err
	}
	special := l.special()
	tokens, whole := slices.Clone(vocabulary), false
	if len(vocabulary) >= len(special) && slices.Equal(vocabulary[:len(special)], special) {
		tokens, whole = tokens[len(special):], true
	}
	switch {
	case len(vocabulary) == 0:
		return nil, fmt.Errorf("the vocabulary is empty; expected at least one token")
	case len(tokens) == 0:
		return nil, fmt.Errorf("the vocabulary has none but the special tokens %v; expected at least one other", special)
	case l.maxTokens > 0 && len(special)+len(tokens) > l.maxTokens:
		return nil, fmt.Errorf("the vocabulary has %d entries with the special ones, MaxTokens is %d", len(special)+len(tokens), l.maxTokens)
	case (l.mode == TFIDFMode) != (idf != nil):
		return nil, fmt.Errorf("a vocabulary has IDF weights with OutputMode %q and only then; received %d weights with OutputMode %q", TFIDFMode, len(idf), l.mode)
	case idf != nil && len(idf) != len(vocabulary):
		return nil, fmt.Errorf("the vocabulary has %d tokens and %d IDF weights; expected as many", len(vocabulary), len(idf))
	}
	t := &table[T]{tokens: tokens, index: make(map[T]int64, len(tokens))}
	for i, token := range tokens {
		if _, twice := t.index[token]; twice {
			return nil, fmt.Errorf("the vocabulary has the token %s twice; each must be there once", l.describe(token))
		}
		if l.mask != nil && token == *l.mask || l.invert && token == l.unknown {
			return nil, fmt.Errorf("the vocabulary has the special token %s at place %d; leave special tokens out, or have all of them at the beginning: %v", l.describe(token), i, special)
		}
		t.index[token] = int64(i + len(special))
	}
	if idf != nil {
		t.idf = l.padIDF(idf, whole)
	}
	return t, nil
}

// padIDF adds weights for the special tokens, the mean of the others, and zeros up to MaxTokens.
func (l *lookup[T]) padIDF(idf []float64, whole bool) []float64 {
	var out []float64
	if !whole {
		mean := 0.0
		for _, w := range idf {
			mean += w / float64(len(idf))
		}
		out = slices.Repeat([]float64{mean}, l.firstBucket()+l.oov)
	}
	out = append(out, idf...)
	if l.padToMax && len(out) < l.maxTokens {
		out = append(out, make([]float64, l.maxTokens-len(out))...)
	}
	for i, w := range out {
		out[i] = float64(float32(w))
	}
	return out
}

// counter collects the tokens that a layer is adapted to.
type counter[T cmp.Ordered] struct {
	numbers map[T]int // where a token is in tallies
	tallies []tally[T]
	seen    int // examples
}

// tally holds the counts of a token.
type tally[T cmp.Ordered] struct {
	token       T
	count, have int // how often it was seen, and how many examples have it
	last        int // the last example that has it
}

// add counts the tokens of one example.
func (c *counter[T]) add(example []T) {
	if c.numbers == nil {
		c.numbers = map[T]int{}
	}
	c.seen++
	for _, token := range example {
		i, known := c.numbers[token]
		if !known {
			i = len(c.tallies)
			c.numbers[token], c.tallies = i, append(c.tallies, tally[T]{token: token})
		}
		t := &c.tallies[i]
		t.count++
		if t.last != c.seen {
			t.have, t.last = t.have+1, c.seen
		}
	}
}

// learn makes the table of the counted tokens, at most as many as MaxTokens allows: the most frequent ones first,
// equally frequent ones in decreasing order. The weight of a token that occurs in n of N examples is log(1 + N/(1+n)).
func (l *lookup[T]) learn(c *counter[T]) (*table[T], error) {
	if len(c.tallies) == 0 {
		return nil, fmt.Errorf("received no data; expected at least one example")
	}
	tokens := slices.DeleteFunc(slices.Clone(c.tallies), func(t tally[T]) bool {
		return t.token == l.unknown || l.mask != nil && t.token == *l.mask
	})
	slices.SortFunc(tokens, func(a, b tally[T]) int {
		return cmp.Or(cmp.Compare(b.count, a.count), cmp.Compare(b.token, a.token))
	})
	if room := l.maxTokens - l.firstBucket() - l.oov; l.maxTokens > 0 && len(tokens) > room {
		if room <= 0 {
			return nil, fmt.Errorf("MaxTokens is %d and counts the special tokens, of which there are %d, so that no other one has a place; set it to at least %d", l.maxTokens, l.maxTokens-room, l.maxTokens-room+1)
		}
		tokens = tokens[:room]
	}
	if len(tokens) == 0 {
		return nil, fmt.Errorf("the data have no token besides the special ones %v; expected at least one", l.special())
	}
	var idf []float64
	list := make([]T, len(tokens))
	for i, t := range tokens {
		if list[i] = t.token; l.mode == TFIDFMode {
			idf = append(idf, math.Log(1+float64(c.seen)/float64(1+t.have)))
		}
	}
	return l.make(list, idf)
}

// numberOf returns the number of a token; -1 for one that the rows of modes other than "int" leave out.
func (l *lookup[T]) numberOf(t *table[T], token T) (int64, error) {
	if l.mask != nil && token == *l.mask {
		if l.mode == IntMode {
			return 0, nil
		}
		return -1, nil
	}
	if t != nil {
		if i, ok := t.index[token]; ok {
			return i, nil
		}
	}
	switch l.oov {
	case 0:
		return 0, fmt.Errorf("the token %s is not in the vocabulary, and NumOOVIndices is 0; leave such tokens out, or have at least one OOV index", l.describe(token))
	case 1:
		return int64(l.firstBucket()), nil
	}
	return int64(l.firstBucket()) + l.oovBucket(token), nil
}

// numbers looks all tokens up.
func (l *lookup[T]) numbers(t *table[T], tokens []T) ([]int64, error) {
	out := make([]int64, len(tokens))
	for i, token := range tokens {
		var err error
		if out[i], err = l.numberOf(t, token); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// vocabulary lists the tokens in the order of their numbers, with or without the special ones.
func (l *lookup[T]) vocabulary(t *table[T], special bool) []T {
	var out []T
	if special {
		out = l.special()
	}
	if t != nil {
		out = append(out, t.tokens...)
	}
	return out
}

// vocabularyFile is the content of vocabulary.txt.
func vocabularyFile[T any](tokens []T) []byte {
	lines := make([]string, len(tokens))
	for i, t := range tokens {
		lines[i] = fmt.Sprint(t)
	}
	return []byte(strings.Join(lines, "\n"))
}

// vocabularyLines splits the content of vocabulary.txt as Python's splitlines does, without empty lines at the end.
func vocabularyLines(content []byte) []string {
	text := strings.NewReplacer("\r\n", "\n", "\r", "\n", "\v", "\n", "\f", "\n", "\x1c", "\n", "\x1d", "\n", "\x1e", "\n",
		"\u0085", "\n", "\u2028", "\n", "\u2029", "\n").Replace(string(content))
	lines := strings.Split(text, "\n")
	for len(lines) > 0 && lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}

// fitsLines reports whether a vocabulary survives writing and reading its file. It does not if the last word is empty
// or a word contains a line break. Such a vocabulary is written to the configuration, like one that was given to the
// layer.
func fitsLines(words []string) bool {
	return slices.Equal(vocabularyLines(vocabularyFile(words)), words)
}

// vocabularyName is the file of the vocabulary in an archive.
const vocabularyName = "vocabulary.txt"
