package data_test

import (
	"image"
	"image/color"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
)

func TestImagesAsInput(t *testing.T) {
	colour := image.NewNRGBA(image.Rect(5, 7, 8, 9)) // bounds need not begin at 0
	grey := image.NewGray(image.Rect(0, 0, 3, 2))
	for y := range 2 {
		for x := range 3 {
			colour.SetNRGBA(5+x, 7+y, color.NRGBA{uint8(10*y + x), 100, 200, 128})
			grey.SetGray(x, y, color.Gray{uint8(50*y + x)})
		}
	}
	d, err := data.ToArray(image.Image(colour))
	require.NoError(t, err)
	require.Equal(t, []int{1, 2, 3, 3}, d.Shape())
	require.Equal(t, []float32{0, 100, 200, 1, 100, 200, 2, 100, 200, 10, 100, 200, 11, 100, 200, 12, 100, 200}, d.Elements())

	s := data.Arrays([]*image.Gray{grey, grey}, []int32{0, 1})
	require.NoError(t, s.Err())
	require.Equal(t, []int{2, 2, 3, 1}, s.All().X.Single().Shape())
	require.Equal(t, []float32{0, 1, 2, 50, 51, 52, 0, 1, 2, 50, 51, 52}, s.All().X.Single().Elements())

	s = data.Arrays(map[string]any{"photo": []image.Image{grey, colour}, "age": []float32{1, 2}}, nil)
	require.NoError(t, s.Err())
	require.Equal(t, []int{2, 2, 3, 3}, s.All().X.Get("photo").Shape())

	small := image.NewGray(image.Rect(0, 0, 2, 2))
	require.ErrorContains(t, data.Arrays([]image.Image{grey, small}, nil).Err(), "image 1 is 2 by 2, the first one 3 by 2")
	require.ErrorContains(t, data.Arrays([]image.Image{grey, nil}, nil).Err(), "image 1 is nil")
	require.ErrorContains(t, data.Arrays([]image.Image{}, nil).Err(), "empty list of images")
	require.ErrorContains(t, data.Arrays(image.NewGray(image.Rect(0, 0, 0, 2)), nil).Err(), "no pixels")
}
