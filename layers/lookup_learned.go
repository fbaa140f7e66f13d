package layers

import (
	"cmp"
	"fmt"
)

// idfName is the dataset of the weights of "tf_idf".
const idfName = "vars/idf_weights"

// learned is the state of StringLookup and IntegerLookup besides their fields. Its methods do for both what differs
// only in the type of tokens. They take the settings, which come from the fields.
type learned[T cmp.Ordered] struct {
	table   *table[T]
	entries int       // size of the vocabulary, by a configuration
	stored  []float64 // IDF weights of a weights file, for the vocabulary that LoadAssets reads
}

// ArrayNames is the path of the weights of "tf_idf" in a weights file.
func (s *learned[T]) ArrayNames() []string { return []string{idfName} }

// set takes a given vocabulary.
func (s *learned[T]) set(l Layer, k *lookup[T], tokens []T, idf []float64) error {
	t, err := k.make(tokens, idf)
	if err != nil {
		return fmt.Errorf("layers: %s: SetVocabulary: %w", Name(l), err)
	}
	s.table = t
	return nil
}

// adopt takes the counted tokens as the vocabulary. It fails if the settings are invalid or a field already has a
// vocabulary.
func (s *learned[T]) adopt(l Layer, k *lookup[T], c *counter[T], fixed bool, err error) error {
	if err == nil && fixed {
		err = fmt.Errorf("the vocabulary is fixed by the field Vocabulary; leave it out to adapt")
	}
	var t *table[T]
	if err == nil {
		t, err = k.learn(c)
	}
	if err != nil {
		return fmt.Errorf("layers: %s: Adapt: %w", Name(l), err)
	}
	s.table = t
	return nil
}

// load takes the vocabulary of an archive, with the weights that were read from a weights file before.
func (s *learned[T]) load(l Layer, k *lookup[T], tokens []T) error {
	if k.mode != TFIDFMode {
		return s.set(l, k, tokens, nil)
	}
	idf := s.stored
	if len(idf) < len(tokens) { // a longer one is padded to MaxTokens
		idf = ones(len(tokens))
	}
	if err := s.set(l, k, tokens, idf[:len(tokens)]); err != nil {
		return err
	}
	if len(s.stored) < len(tokens) {
		s.table.idf = nil // whoever uses the layer is told
	}
	return nil
}

// loadIDF assigns the weights of a weights file to the current vocabulary, if there is one.
func (s *learned[T]) loadIDF(l Layer, k *lookup[T], t *table[T]) error {
	if t == nil || s.stored == nil || k.mode != TFIDFMode {
		return nil
	}
	if len(s.stored) != k.depth(t) {
		return fmt.Errorf("layers: %s: the file has %d IDF weights, the vocabulary needs %d", Name(l), len(s.stored), k.depth(t))
	}
	t.idf = s.stored
	return nil
}

// weights returns the weights of "tf_idf"; nil in other modes and without a vocabulary.
func (t *table[T]) weights() []float64 {
	if t == nil {
		return nil
	}
	return t.idf
}

// idfArrays returns the weights of "tf_idf" for a weights file.
func idfArrays(weights []float64) map[string][]float64 {
	if weights == nil {
		return nil
	}
	return map[string][]float64{idfName: weights}
}

func ones(n int) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = 1
	}
	return out
}
