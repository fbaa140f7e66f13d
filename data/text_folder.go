package data

import (
	"fmt"
	"os"
)

type textFolder struct {
	folderConfig
	maxLength int // 0: the whole text
}

type textOption func(*textFolder)

func (o textOption) applyTexts(f *textFolder) { o(f) }

// MaxLength cuts texts of TextDatasetFromDirectory to the given number of bytes; 0, the default, keeps whole texts.
func MaxLength(bytes int) TextOption {
	return textOption(func(f *textFolder) { f.maxLength = bytes })
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
// X holds the contents of the files as an array of text of shape (batch), see [Text], for a model whose input has the
// type "string". Y is the class, encoded as Labels says. It reads files ending in .txt. The options are MaxLength and
// those of [ImageFolder] that do not concern pixels. Order, shuffling and the choice of validation files are the same
// as for ImageFolder. Files are read when they are needed, several batches at a time and ahead of the consumer.
func TextDatasetFromDirectory(dir string, options ...TextOption) (*TextDataset, error) {
	f := textFolder{folderConfig: newFolder("TextDatasetFromDirectory", ".txt")}
	f.together = true // texts of one batch have the width of the longest
	for _, o := range options {
		if o != nil {
			o.applyTexts(&f)
		}
	}
	ds, err := f.open(dir, &f)
	return (*TextDataset)(ds), err
}

func (f *textFolder) check() error {
	if f.maxLength < 0 {
		return fmt.Errorf("MaxLength %d; expected 0 or more", f.maxLength)
	}
	return f.folderConfig.check()
}

// read reads the texts of a batch, or one text if there are no batches.
func (f *textFolder) read(paths []string) (Array, error) {
	texts := make([]string, len(paths))
	for i, path := range paths {
		content, err := os.ReadFile(path)
		if err != nil {
			return Array{}, err
		}
		if f.maxLength > 0 && len(content) > f.maxLength {
			content = content[:f.maxLength]
		}
		texts[i] = string(content)
	}
	shape := []int{len(texts)}
	if f.batchSize == 0 {
		shape = []int{}
	}
	return packText(texts, shape, "a text file")
}
