package datasets

import (
	"archive/tar"
	"bufio"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"sync"

	"github.com/gokeras/gokeras/data"
)

// cifar describes the binary version of one of the two datasets. Its records hold one or two labels and the red, green
// and blue planes of an image.
type cifar struct {
	name        string
	files       collection
	train, test []string // members of the archive
	labels      int      // bytes before the pixels
	classes     []int    // of each label
}

var cifar10 = cifar{
	"CIFAR-10",
	collection{"cifar-10", "https://www.cs.toronto.edu/~kriz/", []published{{"cifar-10-binary.tar.gz", 170052171, "c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd"}}},
	[]string{"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin", "data_batch_4.bin", "data_batch_5.bin"}, []string{"test_batch.bin"}, 1, []int{10},
}

var cifar100 = cifar{
	"CIFAR-100",
	collection{"cifar-100", "https://www.cs.toronto.edu/~kriz/", []published{{"cifar-100-binary.tar.gz", 168513733, "58a81ae192c23a4be8b1804d68e518ed807d710a4eb253b1f2a199162a40d8ec"}}},
	[]string{"train.bin"}, []string{"test.bin"}, 2, []int{20, 100},
}

const (
	cifarSide   = 32
	cifarPixels = cifarSide * cifarSide * 3
	// maxCIFAR bounds the records of a file; the published files have 10,000 or 50,000.
	maxCIFAR = 100_000
)

// CIFAR10 loads A. Krizhevsky's small colour images of 10 classes, 50,000 for training and 10,000 for testing, of shape
// (n, 32, 32, 3), and labels of shape (n): 0 airplane, 1 automobile, 2 bird, 3 cat, 4 deer, 5 dog, 6 frog, 7 horse, 8
// ship, 9 truck.
//
// The archive cifar-10-binary.tar.gz, or the files unpacked from it, come from the folder given with [Directory], from
// the cache folder (gokeras/cifar-10 in the user's cache folder), or, with [Download], from the author's server (170
// MB). Keras reads the Python version, which holds the same images in the same order, and returns labels of shape (n,
// 1).
func CIFAR10(options ...Option) (*Images, error) { return cifar10.load(0, options) }

// CIFAR100 is like [CIFAR10], but with 100 classes (the "fine" labels); see [CIFAR100Coarse].
func CIFAR100(options ...Option) (*Images, error) { return cifar100.load(1, options) }

// CIFAR100Coarse is like [CIFAR100], but its labels are the 20 groups to which the classes belong.
func CIFAR100Coarse(options ...Option) (*Images, error) { return cifar100.load(0, options) }

func (s *cifar) load(label int, options []Option) (*Images, error) {
	d, err := s.read(label, options)
	if err != nil {
		return nil, fmt.Errorf("datasets: %s: %w", s.name, err)
	}
	return d, nil
}

func (s *cifar) read(label int, options []Option) (*Images, error) {
	c, err := configure(options, Option.apply)
	if err != nil {
		return nil, err
	}
	d := &Images{Name: s.name}
	parts := map[string]*cifarPart{}
	for _, name := range slices.Concat(s.train, s.test) {
		parts[name] = &cifarPart{}
	}
	if dir, ok := s.unpacked(c.directory); ok && c.download == nil && !c.embedded {
		d.Source, d.Path = FromDirectory, dir
		err = s.readFolder(dir, label, parts)
	} else {
		if d.Path, d.Source, err = s.files.locate(c); err != nil {
			return nil, err
		}
		err = s.readArchive(filepath.Join(d.Path, s.files.files[0].name), label, parts)
	}
	if err != nil {
		return nil, err
	}
	if d.Train, err = join(parts, s.train); err == nil {
		d.Test, err = join(parts, s.test)
	}
	return d, err
}

// unpacked finds the folder to which the archive was unpacked: dir or a folder in it.
func (s *cifar) unpacked(dir string) (string, bool) {
	if dir == "" {
		return "", false
	}
	for _, sub := range []string{"", "cifar-10-batches-bin", "cifar-100-binary"} {
		if _, err := os.Stat(filepath.Join(dir, sub, s.test[0])); err == nil {
			return filepath.Join(dir, sub), true
		}
	}
	return "", false
}

// cifarPart is the content of one file.
type cifarPart struct {
	pixels, labels []byte
	read           bool
}

func (s *cifar) readFolder(dir string, label int, parts map[string]*cifarPart) error {
	var failures []error
	var mu sync.Mutex
	var group sync.WaitGroup
	for name, part := range parts {
		group.Go(func() {
			f, err := os.Open(filepath.Join(dir, name))
			if err == nil {
				err = s.readRecords(f, label, part)
				_ = f.Close() // only read
			}
			if err != nil {
				mu.Lock()
				failures = append(failures, fmt.Errorf("%s: %w", name, err))
				mu.Unlock()
			}
		})
	}
	group.Wait()
	return errors.Join(failures...)
}

func (s *cifar) readArchive(file string, label int, parts map[string]*cifarPart) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	for t := tar.NewReader(z); ; {
		h, err := t.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		part := parts[path.Base(h.Name)]
		if part == nil || h.Typeflag != tar.TypeReg {
			continue
		}
		if err := s.readRecords(t, label, part); err != nil {
			return fmt.Errorf("%s: %s: %w", file, h.Name, err)
		}
	}
	for name, part := range parts {
		if !part.read {
			return fmt.Errorf("%s holds no %s", file, name)
		}
	}
	return nil
}

// readRecords reads records until the end, and turns planes into pixels.
func (s *cifar) readRecords(from io.Reader, label int, into *cifarPart) error {
	if into.read {
		return errors.New("the file occurs twice")
	}
	into.read = true
	r := bufio.NewReaderSize(from, 1<<16)
	record := make([]byte, s.labels+cifarPixels)
	for n := 0; ; n++ {
		switch _, err := io.ReadFull(r, record); {
		case err == io.EOF:
			return nil
		case err == io.ErrUnexpectedEOF:
			return fmt.Errorf("the file ends inside record %d; expected records of %d bytes", n, len(record))
		case err != nil:
			return err
		case n >= maxCIFAR:
			return fmt.Errorf("more than %d records", maxCIFAR)
		}
		for i, classes := range s.classes {
			if int(record[i]) >= classes {
				return fmt.Errorf("label %d of record %d is %d; expected less than %d", i, n, record[i], classes)
			}
		}
		into.labels = append(into.labels, record[label])
		planes := record[s.labels:]
		const size = cifarSide * cifarSide
		for i := range size {
			into.pixels = append(into.pixels, planes[i], planes[size+i], planes[2*size+i])
		}
	}
}

// join puts the parts together in order.
func join(parts map[string]*cifarPart, names []string) (Split, error) {
	var pixels, labels []byte
	for _, name := range names {
		pixels, labels = append(pixels, parts[name].pixels...), append(labels, parts[name].labels...)
	}
	if len(labels) == 0 {
		return Split{}, fmt.Errorf("%v hold no images", names)
	}
	return Split{
		Images: data.Must(data.ArrayOf(pixels, len(labels), cifarSide, cifarSide, 3)),
		Labels: data.Must(data.ArrayOf(labels, len(labels))),
	}, nil
}
