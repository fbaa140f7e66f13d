package data

import (
	"context"
	"fmt"
	"iter"

	"github.com/gokeras/gokeras/internal/philox"
)

// folderKind is what differs between folders of images, texts and sounds.
type folderKind interface {
	// check returns an error if settings are wrong or contradict each other.
	check() error
	// read returns X for some files: the element of one file, or a batch if files are read together.
	read(paths []string) (Array, error)
}

// folderDataset has the fields of [ImageDataset], [TextDataset] and [AudioDataset], so that it can be converted to
// each.
type folderDataset struct {
	*Pipeline
	ClassNames []string
	Paths      []string
	Classes    []int
}

// newFolder returns the default settings.
func newFolder(function string, suffixes ...string) folderConfig {
	return folderConfig{function: function, suffixes: suffixes, labels: LabelInt, batchSize: DefaultBatchSize}
}

// open creates the dataset of the files below a folder, with the settings of c, which is embedded in kind.
func (c *folderConfig) open(dir string, kind folderKind) (*folderDataset, error) {
	if err := kind.check(); err != nil {
		return nil, fmt.Errorf("data: %s: %w", c.function, err)
	}
	files, err := c.files(dir)
	if err != nil {
		return nil, fmt.Errorf("data: %s: %w", c.function, err)
	}
	return &folderDataset{Pipeline: c.pipeline(files, kind), ClassNames: files.classNames, Paths: files.paths, Classes: files.classes}, nil
}

// pipeline reads the files when they are needed, in a different order for each pass.
func (c *folderConfig) pipeline(files *folderFiles, kind folderKind) *Pipeline {
	n, group := len(files.paths), 1
	if c.together {
		group = max(c.batchSize, 1)
	}
	p := &Pipeline{stage: c.function, size: func() (int, bool) { return (n-1)/group + 1, true }}
	p.pass = func(ctx context.Context, epoch int) iter.Seq2[Batch, error] {
		return func(yield func(Batch, error) bool) {
			order := c.order(n, epoch)
			inOrder(ctx, workersOrCPUs(c.workers), workersOrCPUs(c.workers), yield, func(_ context.Context, submit func(task) bool) {
				for len(order) > 0 {
					part := order[:min(group, len(order))]
					order = order[len(part):]
					if !submit(func(context.Context) (Batch, error) { return c.load(files, part, kind) }) {
						return
					}
				}
			})
		}
	}
	if !c.together && c.batchSize > 0 {
		p = p.Batch(c.batchSize, false)
	}
	return p.Prefetch(1)
}

// order returns the numbers of n files in the order of a pass.
func (c *folderConfig) order(n, epoch int) []int {
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	if !c.inOrder {
		philox.New(uint64(c.seed), uint64(epoch)).Shuffle(n, func(i, j int) { order[i], order[j] = order[j], order[i] })
	}
	return order
}

// load returns the element or the batch for some files.
func (c *folderConfig) load(files *folderFiles, order []int, kind folderKind) (Batch, error) {
	paths, elements := make([]string, len(order)), make([]Batch, len(order))
	for i, file := range order {
		paths[i], elements[i].Y = files.paths[file], c.label(files, file)
	}
	x, err := kind.read(paths)
	if err != nil {
		return Batch{}, fmt.Errorf("data: %s: %w", c.function, err)
	}
	batch := elements[0]
	if c.together && c.batchSize > 0 {
		batch = stackBatch(elements)
	}
	batch.X = List(x)
	return batch, nil
}

// label encodes the class of a file.
func (c *folderConfig) label(files *folderFiles, i int) Tensors {
	switch c.labels {
	case LabelInt:
		return List(wrap([]int32{int32(files.classes[i])}))
	case LabelBinary:
		return List(wrap([]float32{float32(files.classes[i])}, 1))
	case LabelCategorical:
		vector := make([]float32, len(files.classNames))
		vector[files.classes[i]] = 1
		return List(wrap(vector, len(vector)))
	}
	return Tensors{}
}
