package datasets

import (
	"fmt"
	"slices"
)

// ShuffleSeed sets the order of the examples before they are cut into parts, as Keras's seed does; the default is 113.
func ShuffleSeed(seed uint32) Option {
	return option(func(c *config) { c.seed, c.given = seed, append(c.given, "ShuffleSeed") })
}

// TestSplit sets the share of the examples to test with; the default is 0.2.
func TestSplit(share float64) Option {
	return option(func(c *config) { c.testSplit, c.given = share, append(c.given, "TestSplit") })
}

// Small takes the first 600 rows of CaliforniaHousing, Keras's version "small".
func Small() Option {
	return option(func(c *config) { c.small, c.given = true, append(c.given, "Small") })
}

// NumWords keeps only the n most frequent words of a text; others become 2, "not in the vocabulary". 0 is the default: all.
func NumWords(n int) Option {
	return option(func(c *config) { c.numWords, c.given = n, append(c.given, "NumWords") })
}

// SkipTop drops the n most frequent words of a text: they become 2. The default is 0.
func SkipTop(n int) Option {
	return option(func(c *config) { c.skipTop, c.given = n, append(c.given, "SkipTop") })
}

// MaxLength leaves out texts of n words and more, as Keras's maxlen does. 0 is the default: all texts.
func MaxLength(n int) Option {
	return option(func(c *config) { c.maxLength, c.given = n, append(c.given, "MaxLength") })
}

// configure collects options; allowed are those that not every data set has.
func configure(options []Option, allowed []string) (*config, error) {
	c := &config{seed: 113, testSplit: 0.2}
	for _, o := range options {
		if o != nil {
			o.apply(c)
		}
	}
	for _, name := range c.given {
		if !slices.Contains(allowed, name) {
			return nil, fmt.Errorf("the option %s has no meaning here; this data set takes %q beside those that say where it is", name, allowed)
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
