package data_test

import (
	"image"
	"image/color"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
)

// TestGreyOfFolders: colours are made grey as the decoders of TensorFlow do it, whose numbers these are.
func TestGreyOfFolders(t *testing.T) {
	narrow, clear := image.NewNRGBA(image.Rect(0, 0, 8, 5)), image.NewNRGBA(image.Rect(0, 0, 8, 5))
	wide, wideClear := image.NewNRGBA64(image.Rect(0, 0, 8, 5)), image.NewNRGBA64(image.Rect(0, 0, 8, 5))
	var palette color.Palette
	for i := range 40 {
		c, w := color.NRGBA{uint8(i * 37), uint8(i * 91), uint8(i * 151), 255}, color.NRGBA64{uint16(i * 9973), uint16(i * 30011), uint16(i * 52361), 65535}
		narrow.SetNRGBA(i%8, i/8, c)
		wide.SetNRGBA64(i%8, i/8, w)
		palette = append(palette, c)
		c.A, w.A = uint8(i), uint16(i)
		clear.SetNRGBA(i%8, i/8, c)
		wideClear.SetNRGBA64(i%8, i/8, w)
	}
	for i, c := range []color.NRGBA64{{37078, 36599, 64603, 65535}, {36731, 44851, 52220, 65535}} { // rounding decides
		wide.SetNRGBA64(i, 0, c)
		wideClear.SetNRGBA64(i, 0, color.NRGBA64{c.R, c.G, c.B, 7})
	}
	paletted := image.NewPaletted(narrow.Rect, palette)
	for i := range 40 {
		paletted.SetColorIndex(i%8, i/8, uint8(i))
	}
	of8 := []float32{0, 81, 134, 65, 118, 199, 102, 78, 159, 61, 143, 196, 98, 180, 156, 87, 139, 42, 123, 176, 107, 83, 165, 67, 120, 201, 104, 185, 161, 64, 145, 48, 129, 182, 84, 89, 142, 73, 126, 178}
	of16 := []float32{156, 169, 178, 102, 177, 130, 205, 53, 127, 52, 155, 80, 154, 229, 77, 180, 105, 179, 104, 178, 55, 130, 54, 129, 203, 157, 231, 79, 154, 78, 182, 106, 181, 29, 103, 57, 131, 206, 130, 205}
	for name, c := range map[string]struct {
		img  image.Image
		want []float32
	}{
		"8 bits": {narrow, of8}, "8 bits, transparent": {clear, of8}, "a palette": {paletted, of8}, "16 bits": {wide, of16}, "16 bits, transparent": {wideClear, of16},
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			for _, class := range []string{"a", "b"} {
				require.NoError(t, os.Mkdir(filepath.Join(folder, class), 0o700))
				saveImage(t, filepath.Join(folder, class, "x.png"), c.img)
			}
			ds, err := data.ImageFolder(folder, 5, 8, data.Colors(data.Grayscale), data.ImagesInOrder())
			require.NoError(t, err)
			require.Equal(t, c.want, batchesOf(t, ds, 0)[0].X.Single().Elements().([]float32)[:40])
		})
	}
}

// TestGreyOfJPEG: the grey of a JPEG in a folder is the brightness that the file holds, also where its colour lies
// outside of those that there are.
func TestGreyOfJPEG(t *testing.T) {
	img := image.NewYCbCr(image.Rect(0, 0, 8, 8), image.YCbCrSubsampleRatio444)
	for i := range img.Y {
		img.Y[i], img.Cb[i], img.Cr[i] = 60, 255, 20
	}
	folder := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(folder, "a"), 0o700))
	saveImage(t, filepath.Join(folder, "a", "x.jpg"), img)
	ds, err := data.ImageFolder(folder, 8, 8, data.Colors(data.Grayscale), data.Labels(data.LabelNone))
	require.NoError(t, err)
	for _, v := range batchesOf(t, ds, 0)[0].X.Single().Elements().([]float32) {
		require.InDelta(t, 60, v, 1)
	}
}
