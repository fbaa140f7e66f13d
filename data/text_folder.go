package data

import (
	"context"
	"fmt"
	"iter"
	"os"

	"github.com/gokeras/gokeras/internal/philox"
)

// MaxLength cuts texts of TextDatasetFromDirectory to so many bytes; 0, the default, keeps them.
func MaxLength(bytes int) TextOption {
	return textOption(func(c *folderConfig) { c.maxLength = bytes })
}

// TextDataset is a Pipeline of texts in files.
type TextDataset struct {
	*Pipeline
	ClassNames []string // the name of each class; nil for LabelNone
	Paths      []string // the files
	Classes    []int    // the class of each file; nil for LabelNone
}

// TextDatasetFromDirectory reads the texts below a folder that has one subfolder for each class, Keras's
// text_dataset_from_directory:
//
//	dir/good/1.txt, dir/good/more/2.txt, dir/bad/3.txt, ...
//
// X are the contents of the files as an array of text of shape (batch), see [Text]; a model whose input has the type
// "string" takes them. Y is the class as Labels says. Files ending in .txt count. The options are those of
// [ImageFolder] that are not about pixels, and MaxLength; order, shuffling and the choice of validation files are as
// there. Files are read when they are needed, several batches at a time and ahead of the consumer.
func TextDatasetFromDirectory(dir string, options ...TextOption) (*TextDataset, error) {
	c := folderConfig{labels: LabelInt, batchSize: DefaultBatchSize, suffixes: []string{".txt"}}
	for _, o := range options {
		if o != nil {
			o.applyTexts(&c)
		}
	}
	files, err := c.openTexts(dir)
	if err != nil {
		return nil, fmt.Errorf("data: TextDatasetFromDirectory: %w", err)
	}
	return &TextDataset{Pipeline: c.texts(files), ClassNames: files.ClassNames, Paths: files.Paths, Classes: files.Classes}, nil
}

func (c *folderConfig) openTexts(dir string) (*ImageDataset, error) {
	if c.maxLength < 0 {
		return nil, fmt.Errorf("MaxLength %d; expected 0 or more", c.maxLength)
	}
	if err := c.check(1, 1); err != nil {
		return nil, err
	}
	return c.files(dir)
}

// texts reads whole batches: texts of one batch have the width of the longest.
func (c *folderConfig) texts(ds *ImageDataset) *Pipeline {
	return c.wholeBatches("TextDatasetFromDirectory", ds, c.readTexts)
}

// wholeBatches is the pipeline of files that are read batch by batch.
func (c *folderConfig) wholeBatches(stage string, ds *ImageDataset, read func(ds *ImageDataset, order []int) (Batch, error)) *Pipeline {
	n := len(ds.Paths)
	size := max(c.batchSize, 1)
	p := &Pipeline{stage: stage, size: func() (int, bool) { return (n-1)/size + 1, true }}
	p.pass = func(ctx context.Context, epoch int) iter.Seq2[Batch, error] {
		return func(yield func(Batch, error) bool) {
			order := make([]int, n)
			for i := range order {
				order[i] = i
			}
			if !c.inOrder {
				philox.New(uint64(c.seed), uint64(epoch)).Shuffle(n, func(i, j int) { order[i], order[j] = order[j], order[i] })
			}
			inOrder(ctx, workersOrCPUs(c.workers), workersOrCPUs(c.workers), yield, func(_ context.Context, submit func(task) bool) {
				for len(order) > 0 {
					part := order[:min(size, len(order))]
					order = order[len(part):]
					if !submit(func(context.Context) (Batch, error) { return read(ds, part) }) {
						return
					}
				}
			})
		}
	}
	return p.Prefetch(1)
}

func (c *folderConfig) readTexts(ds *ImageDataset, order []int) (Batch, error) {
	texts, labels := make([]string, len(order)), make([]Batch, len(order))
	for i, file := range order {
		content, err := os.ReadFile(ds.Paths[file])
		if err != nil {
			return Batch{}, fmt.Errorf("data: TextDatasetFromDirectory: %w", err)
		}
		if c.maxLength > 0 && len(content) > c.maxLength {
			content = content[:c.maxLength]
		}
		texts[i] = string(content)
		labels[i].Y = c.label(ds, file)
	}
	shape := []int{len(texts)}
	if c.batchSize == 0 {
		shape = []int{}
	}
	x, err := packText(texts, shape, "a text file")
	if err != nil {
		return Batch{}, fmt.Errorf("data: TextDatasetFromDirectory: %w", err)
	}
	batch := labels[0]
	if c.batchSize > 0 {
		batch = stackBatch(labels)
	}
	batch.X = List(x)
	return batch, nil
}
