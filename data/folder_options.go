package data

import (
	"errors"
	"fmt"
	"slices"
)

// LabelMode says how ImageFolder encodes the class of an image.
type LabelMode string

const (
	LabelInt         LabelMode = "int"         // int32 class number, shape (batch); the zero value "" also means LabelInt
	LabelCategorical LabelMode = "categorical" // float32 one-hot vector, shape (batch, classes)
	LabelBinary      LabelMode = "binary"      // float32 0 or 1, shape (batch, 1); two classes only
	LabelNone        LabelMode = "none"        // no labels: Y is empty, and the folder structure is ignored
)

// Subset names one part of a validation split.
type Subset string

const (
	Training   Subset = "training"
	Validation Subset = "validation"
)

// ImageOption is an option of [ImageFolder].
type ImageOption interface{ applyImages(*imageFolder) }

// TextOption is an option of [TextDatasetFromDirectory].
type TextOption interface{ applyTexts(*textFolder) }

// AudioOption is an option of [AudioDatasetFromDirectory].
type AudioOption interface{ applySounds(*audioFolder) }

// FolderOption is an option of all functions that read a folder: [ImageFolder], [TextDatasetFromDirectory] and
// [AudioDatasetFromDirectory].
type FolderOption interface {
	ImageOption
	TextOption
	AudioOption
}

// folderConfig holds the settings that all kinds of folders share.
type folderConfig struct {
	function string   // of the API, for messages
	suffixes []string // of the files
	together bool     // the files of a batch are read by one worker, since their lengths decide the shape of the batch

	labels      LabelMode
	batchSize   int
	inOrder     bool
	seed        uint32
	split       float64
	subset      Subset
	classNames  []string
	workers     int
	fileLabels  []int // nil: the folders are the classes
	followLinks bool
}

type folderOption func(*folderConfig)

func (o folderOption) applyImages(f *imageFolder) { o(&f.folderConfig) }
func (o folderOption) applyTexts(f *textFolder)   { o(&f.folderConfig) }
func (o folderOption) applySounds(f *audioFolder) { o(&f.folderConfig) }

// Labels sets the encoding of the classes; the default is LabelInt.
func Labels(mode LabelMode) FolderOption {
	return folderOption(func(c *folderConfig) { c.labels = mode })
}

// ImageBatchSize sets the number of images in a batch; the default is 32, and 0 yields the images one by one.
func ImageBatchSize(n int) FolderOption {
	return folderOption(func(c *folderConfig) { c.batchSize = n })
}

// ImagesInOrder keeps the alphabetical order of the files. By default every pass has a new random order.
func ImagesInOrder() FolderOption { return folderOption(func(c *folderConfig) { c.inOrder = true }) }

// ImageSeed seeds the order of the files and the choice of the validation files; the default is 0.
func ImageSeed(seed uint32) FolderOption {
	return folderOption(func(c *folderConfig) { c.seed = seed })
}

// ValidationSplit reserves a fraction of the files, 0 < fraction < 1, and yields only the named part. Two calls with
// the same fraction and seed, one for each part, share no file.
func ValidationSplit(fraction float64, part Subset) FolderOption {
	return folderOption(func(c *folderConfig) { c.split, c.subset = fraction, part })
}

// ClassNames chooses the subfolders that are classes, and their numbers: names[0] is class 0. By default all subfolders
// are classes, in sorted order.
func ClassNames(names ...string) FolderOption {
	return folderOption(func(c *folderConfig) { c.classNames = names })
}

// FileLabels gives the class of each file, instead of taking it from the folder; Keras's labels=[...]. The labels are
// in the alphabetical order of the files: folder by folder, starting with the files of the top folder. The class names
// are the distinct labels, sorted.
func FileLabels(labels ...int) FolderOption {
	return folderOption(func(c *folderConfig) { c.fileLabels = append([]int{}, labels...) })
}

// FollowLinks also searches folders behind symbolic links; Keras's follow_links. A link to a folder that contains it is
// an error.
func FollowLinks() FolderOption { return folderOption(func(c *folderConfig) { c.followLinks = true }) }

// ImageWorkers sets how many images are read at the same time; the default 0 means one for each CPU.
func ImageWorkers(n int) FolderOption { return folderOption(func(c *folderConfig) { c.workers = n }) }

// check returns an error if options contradict each other.
func (c *folderConfig) check() error {
	if c.batchSize < 0 || c.workers < 0 || c.workers > mostAhead {
		return fmt.Errorf("batch size %d and %d workers; expected 0 or more, and %d workers at most", c.batchSize, c.workers, mostAhead)
	}
	if c.labels == "" {
		c.labels = LabelInt
	}
	if modes := []LabelMode{LabelInt, LabelCategorical, LabelBinary, LabelNone}; !slices.Contains(modes, c.labels) {
		return fmt.Errorf("label mode %q; expected one of %q", c.labels, modes)
	}
	if c.labels == LabelNone && c.classNames != nil {
		return errors.New("ClassNames were given for label mode \"none\"")
	}
	if c.labels == LabelNone && c.fileLabels != nil {
		return errors.New("FileLabels were given for label mode \"none\"")
	}
	if c.classNames != nil && c.fileLabels != nil {
		return errors.New("ClassNames and FileLabels were both given; the class names are the sorted labels")
	}
	switch {
	case c.subset == "" && c.split == 0:
	case !(c.split > 0 && c.split < 1):
		return fmt.Errorf("validation split %g; expected a fraction between 0 and 1, exclusively", c.split)
	case c.subset != Training && c.subset != Validation:
		return fmt.Errorf("subset %q; expected %q or %q", c.subset, Training, Validation)
	}
	return nil
}
