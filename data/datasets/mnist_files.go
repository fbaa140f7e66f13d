package datasets

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/kernels/ir"
)

// mnistFile is one of the four files of the database.
type mnistFile struct {
	name   string
	size   int64  // in bytes, not compressed
	sha256 string // of the file, not compressed: the .gz files in circulation are not all equal
}

// mnistFiles are the images and labels for training, then those for testing.
var mnistFiles = [4]mnistFile{
	{"train-images-idx3-ubyte", 47040016, "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db"},
	{"train-labels-idx1-ubyte", 60008, "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5"},
	{"t10k-images-idx3-ubyte", 7840016, "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7"},
	{"t10k-labels-idx1-ubyte", 10008, "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2"},
}

// find returns the path of the file in a folder, under one of its common names.
func (f mnistFile) find(dir string) (string, error) {
	dotted := strings.Replace(f.name, "-idx", ".idx", 1)
	for _, name := range []string{f.name, f.name + ".gz", dotted, dotted + ".gz"} {
		path := filepath.Join(dir, name)
		if _, err := os.Stat(path); err == nil {
			return path, nil
		} else if !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
	}
	return "", fmt.Errorf("%s holds neither %s nor %s.gz: %w", dir, f.name, f.name, fs.ErrNotExist)
}

// readDirectory reads the four files in parallel, because unpacking would otherwise take a second.
func readDirectory(dir string, source Source) (*Images, error) {
	var arrays [4]data.Array
	var failures [4]error
	var reading sync.WaitGroup
	for i, f := range mnistFiles {
		reading.Go(func() {
			var path string
			if path, failures[i] = f.find(dir); failures[i] == nil {
				arrays[i], failures[i] = data.LoadIDX(path)
			}
		})
	}
	reading.Wait()
	if err := errors.Join(failures[:]...); err != nil {
		return nil, err
	}
	d := &Images{Name: "MNIST", Source: source, Path: dir, Train: Split{arrays[0], arrays[1]}, Test: Split{arrays[2], arrays[3]}}
	for i, s := range []Split{d.Train, d.Test} {
		if err := s.check(); err != nil {
			return nil, fmt.Errorf("%s: the %s files: %w", dir, [...]string{"train", "t10k"}[i], err)
		}
	}
	return d, nil
}

func (s Split) check() error {
	images, labels := s.Images, s.Labels
	switch {
	case images.DType() != ir.Uint8 || images.Rank() != 3:
		return fmt.Errorf("images are %s with shape %v; expected uint8 with shape (n, height, width)", images.DType(), images.Shape())
	case labels.DType() != ir.Uint8 || labels.Rank() != 1:
		return fmt.Errorf("labels are %s with shape %v; expected uint8 with shape (n)", labels.DType(), labels.Shape())
	case images.Shape()[0] != labels.Shape()[0]:
		return fmt.Errorf("%d images but %d labels", images.Shape()[0], labels.Shape()[0])
	}
	return nil
}
