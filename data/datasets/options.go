package datasets

import "fmt"

// BostonHousingOption is an option of [BostonHousing].
type BostonHousingOption interface{ applyBoston(*config) }

// CaliforniaHousingOption is an option of [CaliforniaHousing].
type CaliforniaHousingOption interface{ applyCalifornia(*config) }

// IMDBOption is an option of [IMDB].
type IMDBOption interface{ applyIMDB(*config) }

// ReutersOption is an option of [Reuters].
type ReutersOption interface{ applyReuters(*config) }

// SplitOption is an option of the datasets that are split into two parts when they are read.
type SplitOption interface {
	BostonHousingOption
	CaliforniaHousingOption
	ReutersOption
}

// TextsOption is an option of the datasets of texts.
type TextsOption interface {
	IMDBOption
	ReutersOption
}

// SeedOption is an option of the datasets that are shuffled when they are read.
type SeedOption interface {
	SplitOption
	IMDBOption
}

type (
	californiaOption func(*config)
	splitOption      func(*config)
	textsOption      func(*config)
	seedOption       func(*config)
)

func (f californiaOption) applyCalifornia(c *config) { f(c) }

func (f splitOption) applyBoston(c *config)     { f(c) }
func (f splitOption) applyCalifornia(c *config) { f(c) }
func (f splitOption) applyReuters(c *config)    { f(c) }

func (f textsOption) applyIMDB(c *config)    { f(c) }
func (f textsOption) applyReuters(c *config) { f(c) }

func (f seedOption) applyBoston(c *config)     { f(c) }
func (f seedOption) applyCalifornia(c *config) { f(c) }
func (f seedOption) applyIMDB(c *config)       { f(c) }
func (f seedOption) applyReuters(c *config)    { f(c) }

// ShuffleSeed seeds the shuffle of the examples before the split, as Keras's seed does; the default is 113.
func ShuffleSeed(seed uint32) SeedOption {
	return seedOption(func(c *config) { c.seed = seed })
}

// TestSplit sets the share of the examples for testing; the default is 0.2.
func TestSplit(share float64) SplitOption {
	return splitOption(func(c *config) { c.testSplit = share })
}

// Small loads only the first 600 rows of CaliforniaHousing, Keras's version "small".
func Small() CaliforniaHousingOption {
	return californiaOption(func(c *config) { c.small = true })
}

// NumWords keeps only the n most frequent words; others become 2, "not in the vocabulary". 0, the default, keeps all.
func NumWords(n int) TextsOption {
	return textsOption(func(c *config) { c.numWords = n })
}

// SkipTop replaces the n most frequent words by 2. The default is 0.
func SkipTop(n int) TextsOption {
	return textsOption(func(c *config) { c.skipTop = n })
}

// MaxLength drops texts of n or more words, as Keras's maxlen does. 0, the default, keeps all texts.
func MaxLength(n int) TextsOption {
	return textsOption(func(c *config) { c.maxLength = n })
}

// configure collects the options of a dataset; apply applies one option of its kind.
func configure[O any](options []O, apply func(O, *config)) (*config, error) {
	c := &config{seed: 113, testSplit: 0.2}
	for _, o := range options {
		if any(o) != nil {
			apply(o, c)
		}
	}
	if !(c.testSplit >= 0 && c.testSplit < 1) {
		return nil, fmt.Errorf("TestSplit is %v; expected a share from 0 to below 1", c.testSplit)
	}
	if c.numWords < 0 || c.skipTop < 0 || c.maxLength < 0 {
		return nil, fmt.Errorf("NumWords is %d, SkipTop %d and MaxLength %d; none may be negative", c.numWords, c.skipTop, c.maxLength)
	}
	return c, nil
}
