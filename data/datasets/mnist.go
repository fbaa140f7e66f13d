package datasets

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/data/datasets/internal/mnistsubset"
)

// Source says where a dataset was read from.
type Source string

const (
	FromDirectory Source = "directory"       // the folder named by the option Directory
	FromCache     Source = "cache"           // the cache folder, where the files were already
	FromDownload  Source = "download"        // the cache folder, to which files were downloaded by this call
	FromProgram   Source = "embedded subset" // the part that is inside the program
)

// Images is a set of labelled images, with a part for training and a part for testing.
type Images struct {
	Name   string // "MNIST"
	Train  Split
	Test   Split
	Source Source
	Path   string // folder of the files; "" for the embedded subset
}

// Split is one part of Images.
type Split struct {
	Images data.Array // uint8, shape (n, height, width), 0 is background; colours (n, height, width, 3)
	Labels data.Array // uint8, shape (n)
}

// Len returns the number of images.
func (s Split) Len() int {
	if s.Images.IsZero() {
		return 0
	}
	return s.Images.Shape()[0]
}

// Arrays returns images and labels as a source of examples for Fit and Evaluate.
func (s Split) Arrays() *data.ArraySource { return data.Arrays(s.Images, s.Labels) }

// String reports what was loaded: "MNIST: 10000 training and 2000 test images of 28 x 28 pixels, from the embedded
// subset".
func (d *Images) String() string {
	from := "the " + string(d.Source)
	if d.Path != "" {
		from += " " + d.Path
	}
	shape := d.Train.Images.Shape()
	return fmt.Sprintf("%s: %d training and %d test images of %d x %d pixels, from %s",
		d.Name, d.Train.Len(), d.Test.Len(), shape[1], shape[2], from)
}

// Option is an option of MNIST and all other datasets that says where the files are.
type Option interface {
	apply(*config)
	BostonHousingOption
	CaliforniaHousingOption
	IMDBOption
	ReutersOption
}

type config struct {
	directory string
	cache     string
	embedded  bool
	download  context.Context // of the call only
	baseURL   string

	seed              uint32
	testSplit         float64
	small             bool
	numWords, skipTop int
	maxLength         int
}

type option func(*config)

func (f option) apply(c *config)           { f(c) }
func (f option) applyBoston(c *config)     { f(c) }
func (f option) applyCalifornia(c *config) { f(c) }
func (f option) applyIMDB(c *config)       { f(c) }
func (f option) applyReuters(c *config)    { f(c) }

// Directory reads the four IDX files in a folder, plain or compressed (.gz), and fails if one is missing. It also reads
// other datasets with the same four files, such as Fashion-MNIST.
func Directory(path string) Option { return option(func(c *config) { c.directory = path }) }

// Embedded reads the subset embedded in the program, even if the cache has all images, so that the data are the same on
// every machine.
func Embedded() Option { return option(func(c *config) { c.embedded = true }) }

// CacheDirectory sets the cache folder, in which files are looked up and to which they are downloaded. The default for
// MNIST is gokeras/mnist in the user's cache folder (os.UserCacheDir).
func CacheDirectory(path string) Option { return option(func(c *config) { c.cache = path }) }

// Download downloads the files (11 MB for MNIST) to the cache folder if they are not there, and verifies their SHA-256
// checksums. The download ends when ctx does.
func Download(ctx context.Context) Option { return option(func(c *config) { c.download = ctx }) }

// BaseURL sets where Download finds the files; their names, such as train-images-idx3-ubyte.gz, are appended. The
// default for MNIST is [DefaultBaseURL].
func BaseURL(url string) Option { return option(func(c *config) { c.baseURL = url }) }

// MNIST loads the handwritten digits of Y. LeCun, C. Cortes and C. J. C. Burges: images of 28 x 28 pixels and the
// digits 0 to 9 that they show.
//
// It uses the first of these that applies: the folder given with [Directory]; a download if [Download] is given; the
// cache folder, if all four files are there; the subset embedded in the program, 10,000 training and 2,000 test images
// in which all digits are equally frequent. The first three hold 60,000 training and 10,000 test images. Source and
// String of the result say which one was used. If a chosen folder cannot be read, MNIST returns an error; it never
// falls back silently.
func MNIST(options ...Option) (*Images, error) {
	c, err := configure(options, Option.apply)
	var d *Images
	if err == nil {
		if c.baseURL == "" {
			c.baseURL = DefaultBaseURL
		}
		d, err = c.load()
	}
	if err != nil {
		return nil, fmt.Errorf("datasets: MNIST: %w", err)
	}
	return d, nil
}

func (c *config) load() (*Images, error) {
	if c.directory != "" && (c.embedded || c.download != nil) || c.embedded && c.download != nil {
		return nil, errors.New("more than one of Directory, Download and Embedded was given; expected one source")
	}
	if c.directory != "" {
		return readDirectory(c.directory, FromDirectory)
	}
	if c.embedded {
		return readEmbedded()
	}
	cache := c.cache
	if cache == "" {
		user, err := os.UserCacheDir()
		if err != nil && c.download == nil {
			return readEmbedded() // no home folder, so nothing can be cached
		}
		if err != nil {
			return nil, fmt.Errorf("no cache folder to download to: %w; give CacheDirectory", err)
		}
		cache = filepath.Join(user, "gokeras", "mnist")
	}
	if c.download != nil {
		fetched, err := downloadMissing(c.download, c.baseURL, cache)
		if err != nil {
			return nil, err
		}
		if fetched {
			return readDirectory(cache, FromDownload)
		}
		return readDirectory(cache, FromCache)
	}
	for _, f := range mnistFiles {
		if _, err := f.find(cache); err != nil {
			if errors.Is(err, fs.ErrNotExist) {
				return readEmbedded()
			}
			return nil, err
		}
	}
	return readDirectory(cache, FromCache)
}

func readEmbedded() (*Images, error) {
	d := &Images{Name: "MNIST", Source: FromProgram}
	for _, part := range []struct {
		split *Split
		read  func() ([]byte, []byte, error)
	}{{&d.Train, mnistsubset.Train}, {&d.Test, mnistsubset.Test}} {
		pixels, labels, err := part.read()
		if err != nil {
			return nil, err
		}
		n := len(labels)
		part.split.Images = data.Must(data.ArrayOf(pixels, n, 28, 28))
		part.split.Labels = data.Must(data.ArrayOf(labels, n))
	}
	return d, nil
}
