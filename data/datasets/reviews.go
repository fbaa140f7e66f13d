package datasets

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/data/internal/randomstate"
	"github.com/gokeras/gokeras/internal/atomicfile"
)

// Texts holds texts as lists of word numbers, with a part for training and a part for testing.
type Texts struct {
	Name        string // "IMDB"
	Train, Test Sequences
	Source      Source
	Path        string // folder of the file
}

// Sequences holds texts and their labels. Word numbers begin at 4; 0 is padding, 1 the beginning of a text, 2 an
// omitted word.
type Sequences struct {
	X [][]int
	Y []int
}

var imdbFile = collection{"imdb", kerasFiles, []published{{name: "imdb.npz", sha256: "69664113be75683a8fe16e3ed0ab59fda8886cb3cd7ada244f7d9544e4676b9f"}}}

var reutersFile = collection{"reuters", kerasFiles, []published{{name: "reuters.npz", sha256: "d6586e694ee56d7a4e65172e12b3e987c03096cb01eab99753921ef915959916"}}}

// IMDB loads 25,000 film reviews for training and 25,000 for testing, labelled 0 (negative) or 1 (positive; A. Maas et
// al., 2011), as lists of words numbered by frequency, in the same order as in Keras. [NumWords], [SkipTop],
// [MaxLength] and [ShuffleSeed] have Keras's meaning. data.PadSequences turns the lists into an array.
//
// The file imdb.npz comes from the folder given with [Directory], from the cache folder (gokeras/imdb in the user's
// cache folder), or, with [Download], from the servers of Keras.
func IMDB(options ...IMDBOption) (*Texts, error) {
	c, err := configure(options, IMDBOption.applyIMDB)
	if err != nil {
		return nil, named("IMDB", err)
	}
	d, err := readTexts("IMDB", &imdbFile, c)
	return d, named("IMDB", err)
}

// Reuters loads 11,228 newswires of 1987, labelled with one of 46 topics, as lists of words numbered by frequency, in
// the same parts as in Keras: shuffled with [ShuffleSeed] (113 by default) and split, with the share [TestSplit] (0.2
// by default) for testing. See [IMDB].
func Reuters(options ...ReutersOption) (*Texts, error) {
	c, err := configure(options, ReutersOption.applyReuters)
	if err != nil {
		return nil, named("Reuters", err)
	}
	d, err := readTexts("Reuters", &reutersFile, c)
	return d, named("Reuters", err)
}

func named(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("datasets: %s: %w", what, err)
}

func readTexts(name string, s *collection, c *config) (*Texts, error) {
	dir, source, err := s.locate(c)
	if err != nil {
		return nil, err
	}
	file := filepath.Join(dir, s.files[0].name)
	d := &Texts{Name: name, Source: source, Path: dir}
	if s == &reutersFile {
		err = d.fromWhole(file, c)
	} else {
		err = d.fromParts(file, c)
	}
	if err != nil {
		return nil, atomicfile.Named(file, err)
	}
	return d, nil
}

// fromParts reads a file that has the two parts, and shuffles each.
func (d *Texts) fromParts(file string, c *config) error {
	random := randomstate.New(c.seed) // continues from one part to the other
	train, err := readSequences(file, "x_train", "y_train", random)
	if err != nil {
		return err
	}
	test, err := readSequences(file, "x_test", "y_test", random)
	if err != nil {
		return err
	}
	train, test = train.shorter(c.maxLength), test.shorter(c.maxLength)
	if len(train.X) == 0 || len(test.X) == 0 {
		return fmt.Errorf("with a MaxLength of %d no text is left", c.maxLength)
	}
	words := c.words(train, test)
	d.Train, d.Test = train.within(c, words), test.within(c, words)
	return nil
}

// fromWhole reads a file of all texts, shuffles them, and splits them into parts.
func (d *Texts) fromWhole(file string, c *config) error {
	all, err := readSequences(file, "x", "y", randomstate.New(c.seed))
	if err != nil {
		return err
	}
	all = all.shorter(c.maxLength)
	if len(all.X) == 0 {
		return fmt.Errorf("with a MaxLength of %d no text is left", c.maxLength)
	}
	all = all.within(c, c.words(all))
	cut := int(float64(len(all.X)) * (1 - c.testSplit))
	d.Train, d.Test = Sequences{all.X[:cut], all.Y[:cut]}, Sequences{all.X[cut:], all.Y[cut:]}
	return nil
}

// shift is added to word numbers, so that the smallest numbers are free for special meanings.
const (
	startOfText = 1
	leftOut     = 2
	shift       = 3
)

// readSequences reads texts and labels, shuffles them, and puts the start number before each text.
func readSequences(file, texts, labels string, random *randomstate.RandomState) (Sequences, error) {
	x, y, err := readRagged(file, texts, labels)
	if err != nil {
		return Sequences{}, err
	}
	var s Sequences
	for _, i := range permutation(random, len(x)) {
		text := make([]int, 1, len(x[i])+1)
		text[0] = startOfText
		for _, w := range x[i] {
			text = append(text, w+shift)
		}
		s.X, s.Y = append(s.X, text), append(s.Y, y[i])
	}
	return s, nil
}

// shorter keeps the texts with fewer than limit numbers.
func (s Sequences) shorter(limit int) (kept Sequences) {
	if limit == 0 {
		return s
	}
	for i, x := range s.X {
		if len(x) < limit {
			kept.X, kept.Y = append(kept.X, x), append(kept.Y, s.Y[i])
		}
	}
	return kept
}

// words returns the limit below which word numbers are kept. Without NumWords it is the largest number that occurs,
// which, as in Keras, is itself omitted.
func (c *config) words(parts ...Sequences) int {
	if c.numWords > 0 {
		return c.numWords
	}
	most := 0
	for _, p := range parts {
		for _, x := range p.X {
			most = max(most, slices.Max(x))
		}
	}
	return most
}

// within replaces words outside the vocabulary by 2.
func (s Sequences) within(c *config, words int) Sequences {
	for _, x := range s.X {
		for i, w := range x {
			if w < c.skipTop || w >= words {
				x[i] = leftOut
			}
		}
	}
	return s
}

// readRagged reads two arrays of an npz file: lists, and an integer for each list.
func readRagged(file, lists, numbers string) (x [][]int, y []int, err error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, nil, err
	}
	archive, err := zip.NewReader(f, info.Size())
	if err != nil {
		return nil, nil, err
	}
	raw, err := readEntry(archive, lists+".npy", info.Size())
	if err != nil {
		return nil, nil, err
	}
	program, err := objectsOf(raw)
	if err == nil {
		x, err = unpickleLists(program)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", lists, err)
	}
	if raw, err = readEntry(archive, numbers+".npy", info.Size()); err != nil {
		return nil, nil, err
	}
	d, err := data.ReadNPY(bytes.NewReader(raw))
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", numbers, err)
	}
	values, ok := d.Elements().([]int64)
	if !ok || d.Rank() != 1 || len(values) != len(x) {
		return nil, nil, fmt.Errorf("%s is %v of shape %v for %d texts; expected int64 with one for each", numbers, d.DType(), d.Shape(), len(x))
	}
	y = make([]int, len(values))
	for i, v := range values {
		y[i] = int(v)
	}
	return x, y, nil
}

// readEntry unpacks a file of an archive. It returns an error if the packed form cannot have the stated length.
func readEntry(archive *zip.Reader, name string, size int64) ([]byte, error) {
	f, err := archive.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	const mostPacked = 1032 // bytes for one, of which deflate is capable
	limit := min(size*mostPacked, 1<<30)
	raw, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(raw)) > limit {
		err = fmt.Errorf("%s holds more than %d bytes", name, limit)
	}
	return raw, err
}

// objectsOf returns the pickle program of an npy file with elements of type object.
func objectsOf(raw []byte) ([]byte, error) {
	if len(raw) < 12 || string(raw[:6]) != "\x93NUMPY" || raw[6] < 1 || raw[6] > 3 {
		return nil, fmt.Errorf("it is not an npy file")
	}
	length, at := int(raw[8])|int(raw[9])<<8, 10
	if raw[6] > 1 {
		length, at = length|int(raw[10])<<16|int(raw[11])<<24, 12
	}
	if length > len(raw)-at || length > math.MaxUint16 {
		return nil, fmt.Errorf("the header of %d bytes is longer than the file or than headers are", length)
	}
	if !bytes.Contains(raw[at:at+length], []byte("'|O'")) && !bytes.Contains(raw[at:at+length], []byte("'O'")) {
		return nil, fmt.Errorf("the header is %q; expected lists, of type '|O'", raw[at:at+length])
	}
	return raw[at+length:], nil
}

var imdbWords = collection{"imdb", kerasFiles, []published{{name: "imdb_word_index.json"}}}

var reutersWords = collection{"reuters", kerasFiles, []published{{name: "reuters_word_index.json"}}}

// IMDBWordIndex reads imdb_word_index.json from a folder ([Directory], or the cache): the number of each word by
// frequency, from 1. In the texts of [IMDB] these numbers are larger by 3.
func IMDBWordIndex(options ...Option) (map[string]int, error) {
	m, err := readWords(&imdbWords, options)
	return m, named("IMDBWordIndex", err)
}

// ReutersWordIndex reads reuters_word_index.json; see [IMDBWordIndex].
func ReutersWordIndex(options ...Option) (map[string]int, error) {
	m, err := readWords(&reutersWords, options)
	return m, named("ReutersWordIndex", err)
}

func readWords(s *collection, options []Option) (map[string]int, error) {
	c, err := configure(options, Option.apply)
	if err != nil {
		return nil, err
	}
	if c.download != nil {
		return nil, fmt.Errorf("no checksum of %s is known, so it is not downloaded; fetch %s%s yourself and name its folder with Directory", s.files[0].name, s.baseURL, s.files[0].name)
	}
	dir, _, err := s.locate(c)
	if err != nil {
		return nil, err
	}
	raw, err := os.ReadFile(filepath.Join(dir, s.files[0].name))
	if err != nil {
		return nil, err
	}
	var words map[string]int
	if err := json.Unmarshal(raw, &words); err != nil {
		return nil, fmt.Errorf("%s: %w; expected an object of numbers", s.files[0].name, err)
	}
	return words, nil
}
