package data

import (
	"errors"
	"fmt"
)

type imageFolder struct {
	folderConfig
	height, width int
	colors        ColorMode
	interpolation Interpolation
	fit           fitMode
}

type imageOption func(*imageFolder)

func (o imageOption) applyImages(f *imageFolder) { o(f) }

// Colors sets the channels; the default is RGB.
func Colors(mode ColorMode) ImageOption {
	return imageOption(func(f *imageFolder) { f.colors = mode })
}

// ImageInterpolation sets how images are resized; the default is Bilinear.
func ImageInterpolation(m Interpolation) ImageOption {
	return imageOption(func(f *imageFolder) { f.interpolation = m })
}

// CropToAspectRatio crops the largest central part of each image with the aspect ratio of the new size before resizing,
// instead of stretching it.
func CropToAspectRatio() ImageOption {
	return imageOption(func(f *imageFolder) { f.fit |= cropToFit })
}

// PadToAspectRatio keeps the aspect ratio of each image and fills the rest with a black border.
func PadToAspectRatio() ImageOption { return imageOption(func(f *imageFolder) { f.fit |= padToFit }) }

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
// X is float32 of shape (batch, height, width, channels) with values from 0 to 255, resized as by LoadImage or as the
// options say; Y is the class, encoded as Labels says. It reads files ending in .bmp, .gif, .jpeg, .jpg or .png. It
// skips folders with a leading dot and, without FollowLinks, folders behind symbolic links inside a class. Files are
// read when they are needed, several at a time and ahead of the consumer.
//
// The files are sorted alphabetically and then, unless ImagesInOrder is given, shuffled by NumPy's legacy generator
// with ImageSeed; the last int(fraction*n) are the validation files. So the same seed gives the same split as in Keras.
// The order of each pass is drawn from the Philox generator, stream number epoch, and differs from Keras's.
func ImageFolder(dir string, height, width int, options ...ImageOption) (*ImageDataset, error) {
	f := imageFolder{folderConfig: newFolder("ImageFolder", ".bmp", ".gif", ".jpeg", ".jpg", ".png"), height: height, width: width, colors: RGB}
	for _, o := range options {
		if o != nil {
			o.applyImages(&f)
		}
	}
	ds, err := f.open(dir, &f)
	return (*ImageDataset)(ds), err
}

func (f *imageFolder) check() error {
	if f.height < 1 || f.width < 1 {
		return fmt.Errorf("size %d x %d; expected a positive height and width", f.height, f.width)
	}
	if _, err := f.colors.channels(); err != nil {
		return err
	}
	if err := f.interpolation.check(); err != nil {
		return err
	}
	if f.fit == cropToFit|padToFit {
		return errors.New("CropToAspectRatio and PadToAspectRatio were both given; use one of them")
	}
	return f.folderConfig.check()
}

// read reads one image.
func (f *imageFolder) read(paths []string) (Array, error) {
	return loadImage(paths[0], f.height, f.width, f.colors, f.interpolation, f.fit, greyAsDecoded)
}
