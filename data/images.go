package data

import (
	"fmt"
	"image"
	"reflect"
)

var imageType = reflect.TypeFor[image.Image]()

// imagesIn returns v as images, if it is an image or a list of images.
func imagesIn(v any) (images []image.Image, list bool) {
	if img, ok := v.(image.Image); ok {
		return []image.Image{img}, false
	}
	rv := reflect.ValueOf(v)
	if !isList(rv.Kind()) || !rv.Type().Elem().Implements(imageType) {
		return nil, false
	}
	images = make([]image.Image, rv.Len())
	for i := range images {
		images[i], _ = rv.Index(i).Interface().(image.Image)
	}
	return images, true
}

// fromImages makes an array (images, height, width, channels) from images of one size.
func fromImages(images []image.Image, name string) (Array, error) {
	if len(images) == 0 {
		return Array{}, fmt.Errorf("%s is an empty list of images", name)
	}
	channels := 1
	for i, img := range images {
		if img == nil || reflect.ValueOf(img).Kind() == reflect.Pointer && reflect.ValueOf(img).IsNil() {
			return Array{}, fmt.Errorf("%s: image %d is nil", name, i)
		}
		switch img.(type) {
		case *image.Gray, *image.Gray16:
		default:
			channels = 3
		}
	}
	size := images[0].Bounds().Size()
	n := len(images)
	if size.X < 1 || size.Y < 1 {
		return Array{}, fmt.Errorf("%s: the images are %d by %d and have no pixels", name, size.X, size.Y)
	}
	if _, ok := volume([]int{n, size.Y, size.X, channels}, 4); !ok {
		return Array{}, fmt.Errorf("%s: %d images of %d by %d are too large for memory", name, n, size.X, size.Y)
	}
	values := make([]float32, 0, n*size.Y*size.X*channels)
	for i, img := range images {
		if s := img.Bounds().Size(); s != size {
			return Array{}, fmt.Errorf("%s: image %d is %d by %d, the first one %d by %d; bring them to one size first, with LoadImage or layers.Resizing", name, i, s.X, s.Y, size.X, size.Y)
		}
		values = append(values, resizeImage(img, channels, size.Y, size.X, Bilinear, stretch)...)
	}
	return wrap(values, n, size.Y, size.X, channels), nil
}
