package data

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gokeras/gokeras/data/internal/randomstate"
	"github.com/gokeras/gokeras/internal/philox"
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
type ImageOption interface{ applyImages(*folderConfig) }

// TextOption is an option of [TextDatasetFromDirectory].
type TextOption interface{ applyTexts(*folderConfig) }

// AudioOption is an option of [AudioDatasetFromDirectory].
type AudioOption interface{ applySounds(*folderConfig) }

// FolderOption is an option of all functions that read a folder: [ImageFolder], [TextDatasetFromDirectory] and
// [AudioDatasetFromDirectory].
type FolderOption interface {
	ImageOption
	TextOption
	AudioOption
}

type folderConfig struct {
	labels     LabelMode
	colors     ColorMode
	batchSize  int
	inOrder    bool
	seed       uint32
	split      float64
	subset     Subset
	classNames []string
	workers    int

	interpolation Interpolation
	fit           fitMode
	maxLength     int      // of texts
	samplingRate  int      // of sounds
	samples       int      // of sounds
	suffixes      []string // of the files; nil is those of images
	fileLabels    []int    // nil: the folders are the classes
	followLinks   bool
}

type (
	imageOption  func(*folderConfig)
	textOption   func(*folderConfig)
	audioOption  func(*folderConfig)
	folderOption func(*folderConfig)
)

func (f imageOption) applyImages(c *folderConfig)  { f(c) }
func (f textOption) applyTexts(c *folderConfig)    { f(c) }
func (f audioOption) applySounds(c *folderConfig)  { f(c) }
func (f folderOption) applyImages(c *folderConfig) { f(c) }
func (f folderOption) applyTexts(c *folderConfig)  { f(c) }
func (f folderOption) applySounds(c *folderConfig) { f(c) }

// Labels sets the encoding of the classes; the default is LabelInt.
func Labels(mode LabelMode) FolderOption {
	return folderOption(func(c *folderConfig) { c.labels = mode })
}

// Colors sets the channels; the default is RGB.
func Colors(mode ColorMode) ImageOption {
	return imageOption(func(c *folderConfig) { c.colors = mode })
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
// the same fraction and seed and the two parts share no file.
func ValidationSplit(fraction float64, part Subset) FolderOption {
	return folderOption(func(c *folderConfig) { c.split, c.subset = fraction, part })
}

// ClassNames chooses the subfolders that are classes, and their numbers: names[0] is class 0. By default all are,
// sorted.
func ClassNames(names ...string) FolderOption {
	return folderOption(func(c *folderConfig) { c.classNames = names })
}

// FileLabels gives the class of each file, instead of its folder; Keras's labels=[...]. The files are counted in
// alphabetical order: folder by folder, those of the folder itself first. The class names are the different labels,
// sorted.
func FileLabels(labels ...int) FolderOption {
	return folderOption(func(c *folderConfig) { c.fileLabels = append([]int{}, labels...) })
}

// FollowLinks also searches folders behind symbolic links; Keras's follow_links. A link to a folder that contains it is
// an error.
func FollowLinks() FolderOption { return folderOption(func(c *folderConfig) { c.followLinks = true }) }

// ImageWorkers sets how many images are read at the same time; the default 0 means one for each CPU.
func ImageWorkers(n int) FolderOption { return folderOption(func(c *folderConfig) { c.workers = n }) }

// ImageInterpolation sets how images are resized; the default is Bilinear.
func ImageInterpolation(m Interpolation) ImageOption {
	return imageOption(func(c *folderConfig) { c.interpolation = m })
}

// CropToAspectRatio crops the largest central part of each image with the aspect ratio of the new size before resizing,
// instead of stretching it.
func CropToAspectRatio() ImageOption {
	return imageOption(func(c *folderConfig) { c.fit |= cropToFit })
}

// PadToAspectRatio keeps the aspect ratio of each image and fills the rest with a black border.
func PadToAspectRatio() ImageOption { return imageOption(func(c *folderConfig) { c.fit |= padToFit }) }

// ImageDataset is a Pipeline of images in files.
type ImageDataset struct {
	*Pipeline
	ClassNames []string // the name of each class; nil for LabelNone
	Paths      []string // the files
	Classes    []int    // the class of each file; nil for LabelNone
}

// ImageDatasetFromDirectory is [ImageFolder] under Keras's name.
func ImageDatasetFromDirectory(dir string, height, width int, options ...ImageOption) (*ImageDataset, error) {
	return ImageFolder(dir, height, width, options...)
}

// ImageFolder reads the images below a folder that has one subfolder for each class, Keras's
// image_dataset_from_directory:
//
//	dir/cats/1.jpg, dir/cats/more/2.png, dir/dogs/3.jpg, ...
//
// X is float32 of shape (batch, height, width, channels) with values from 0 to 255, resized as LoadImage does or as the
// options say; Y is the class as Labels says. Files ending in .bmp, .gif, .jpeg, .jpg or .png count; folders with a
// leading dot and, without FollowLinks, folders behind symbolic links inside a class do not. Files are read when they
// are needed, several at a time and ahead of the consumer.
//
// The files are put in alphabetical order and then, unless ImagesInOrder is given, shuffled by NumPy's legacy generator
// with ImageSeed; the last int(fraction*n) are the validation files. So the same seed gives the same split as in Keras.
// The order of each pass is drawn from stream epoch of the Philox generator and differs from Keras's.
func ImageFolder(dir string, height, width int, options ...ImageOption) (*ImageDataset, error) {
	c := folderConfig{labels: LabelInt, colors: RGB, batchSize: DefaultBatchSize}
	for _, o := range options {
		if o != nil {
			o.applyImages(&c)
		}
	}
	ds, err := c.open(dir, height, width)
	if err != nil {
		return nil, fmt.Errorf("data: ImageFolder: %w", err)
	}
	return ds, nil
}

func (c *folderConfig) open(dir string, height, width int) (*ImageDataset, error) {
	if err := c.check(height, width); err != nil {
		return nil, err
	}
	ds, err := c.files(dir)
	if err != nil {
		return nil, err
	}
	ds.Pipeline = c.pipeline(ds, height, width)
	return ds, nil
}

// files lists the files of a folder in the order of the first pass, or of the part of a validation split.
func (c *folderConfig) files(dir string) (*ImageDataset, error) {
	if c.suffixes == nil {
		c.suffixes = imageSuffixes
	}
	ds := &ImageDataset{}
	if err := c.index(dir, ds); err != nil {
		return nil, err
	}
	if len(ds.Paths) == 0 {
		return nil, fmt.Errorf("no files %s below %s; expected one folder of them for each class", strings.Join(c.suffixes, ", "), dir)
	}
	if c.labels == LabelBinary && len(ds.ClassNames) != 2 {
		return nil, fmt.Errorf("label mode %q needs 2 classes; %s has %d: %q", LabelBinary, dir, len(ds.ClassNames), ds.ClassNames)
	}
	if !c.inOrder {
		randomstate.New(c.seed).Shuffle(len(ds.Paths), func(i, j int) {
			ds.Paths[i], ds.Paths[j] = ds.Paths[j], ds.Paths[i]
			if ds.Classes != nil {
				ds.Classes[i], ds.Classes[j] = ds.Classes[j], ds.Classes[i]
			}
		})
	}
	return ds, c.cut(ds)
}

func (c *folderConfig) check(height, width int) error {
	if height < 1 || width < 1 {
		return fmt.Errorf("size %d x %d; expected a positive height and width", height, width)
	}
	if c.batchSize < 0 || c.workers < 0 {
		return fmt.Errorf("batch size %d and %d workers; expected 0 or more", c.batchSize, c.workers)
	}
	if _, err := c.colors.channels(); err != nil {
		return err
	}
	if err := c.interpolation.check(); err != nil {
		return err
	}
	if c.fit == cropToFit|padToFit {
		return errors.New("CropToAspectRatio and PadToAspectRatio were both given; use one of them")
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

// cut keeps one part of a validation split.
func (c *folderConfig) cut(ds *ImageDataset) error {
	if c.subset == "" {
		return nil
	}
	n := len(ds.Paths)
	first := n - int(c.split*float64(n))
	lo, hi := 0, first
	if c.subset == Validation {
		lo, hi = first, n
	}
	if lo == hi {
		return fmt.Errorf("validation split %g of %d images leaves none for %s", c.split, n, c.subset)
	}
	ds.Paths = ds.Paths[lo:hi]
	if ds.Classes != nil {
		ds.Classes = ds.Classes[lo:hi]
	}
	return nil
}

func (c *folderConfig) pipeline(ds *ImageDataset, height, width int) *Pipeline {
	n := len(ds.Paths)
	files := &Pipeline{stage: "ImageFolder", size: func() (int, bool) { return n, true }}
	files.pass = func(ctx context.Context, epoch int) iter.Seq2[Batch, error] {
		return func(yield func(Batch, error) bool) {
			order := make([]int, n)
			for i := range order {
				order[i] = i
			}
			if !c.inOrder {
				philox.New(uint64(c.seed), uint64(epoch)).Shuffle(n, func(i, j int) { order[i], order[j] = order[j], order[i] })
			}
			inOrder(ctx, workersOrCPUs(c.workers), workersOrCPUs(c.workers), yield, func(_ context.Context, submit func(task) bool) {
				for _, i := range order {
					if !submit(func(context.Context) (Batch, error) { return c.read(ds, i, height, width) }) {
						return
					}
				}
			})
		}
	}
	if c.batchSize == 0 {
		return files.Prefetch(1)
	}
	return files.Batch(c.batchSize, false).Prefetch(1)
}

func (c *folderConfig) read(ds *ImageDataset, i, height, width int) (element Batch, err error) {
	img, err := loadImage(ds.Paths[i], height, width, c.colors, c.interpolation, c.fit)
	if err != nil {
		return Batch{}, fmt.Errorf("data: ImageFolder: %w", err)
	}
	return Batch{X: List(img), Y: c.label(ds, i)}, nil
}

// label encodes the class of a file.
func (c *folderConfig) label(ds *ImageDataset, i int) Tensors {
	switch c.labels {
	case LabelInt:
		return List(wrap([]int32{int32(ds.Classes[i])}))
	case LabelBinary:
		return List(wrap([]float32{float32(ds.Classes[i])}, 1))
	case LabelCategorical:
		vector := make([]float32, len(ds.ClassNames))
		vector[ds.Classes[i]] = 1
		return List(wrap(vector, len(vector)))
	}
	return Tensors{}
}

var imageSuffixes = []string{".bmp", ".gif", ".jpeg", ".jpg", ".png"}

// index lists the files in alphabetical order, class by class.
func (c *folderConfig) index(dir string, ds *ImageDataset) error {
	if c.labels == LabelNone {
		var err error
		ds.Paths, err = c.filesBelow(dir)
		return err
	}
	if c.fileLabels != nil {
		return c.indexLabels(dir, ds)
	}
	folders, err := classFolders(dir)
	if err != nil {
		return err
	}
	ds.ClassNames = folders
	if c.classNames != nil {
		for _, name := range c.classNames {
			if !slices.Contains(folders, name) {
				return fmt.Errorf("class %q has no folder; %s has %q", name, dir, folders)
			}
		}
		ds.ClassNames = slices.Clone(c.classNames)
	}
	ds.Classes = []int{}
	for class, name := range ds.ClassNames {
		paths, err := c.filesBelow(filepath.Join(dir, name))
		if err != nil {
			return err
		}
		ds.Paths = append(ds.Paths, paths...)
		for range paths {
			ds.Classes = append(ds.Classes, class)
		}
	}
	return nil
}

// classFolders lists the subfolders that are classes; a link to a folder is one.
func classFolders(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir) // sorted
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") {
			continue
		}
		if info, err := os.Stat(filepath.Join(dir, e.Name())); err == nil && info.IsDir() {
			names = append(names, e.Name())
		}
	}
	return names, nil
}
