package data_test

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"io"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/image/bmp"

	"github.com/gokeras/gokeras/data"
)

func crc(b []byte) uint32 { return crc32.ChecksumIEEE(b) }

func saveImage(t *testing.T, path string, img image.Image) {
	t.Helper()
	var b bytes.Buffer
	var err error
	switch filepath.Ext(path) {
	case ".png":
		err = png.Encode(&b, img)
	case ".gif":
		err = gif.Encode(&b, img, nil)
	case ".bmp":
		err = bmp.Encode(&b, img)
	default:
		err = jpeg.Encode(&b, img, &jpeg.Options{Quality: 100})
	}
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, b.Bytes(), 0o600))
}

// One picture in every format and Go image type gives the same values.
func TestLoadImageFormats(t *testing.T) {
	colors := []color.NRGBA{{255, 0, 0, 255}, {0, 255, 0, 255}, {0, 0, 255, 255}, {10, 20, 30, 255}, {0, 0, 0, 255}, {255, 255, 255, 255}}
	nrgba, palette := image.NewNRGBA(image.Rect(0, 0, 3, 2)), color.Palette{}
	for i, c := range colors {
		nrgba.SetNRGBA(i%3, i/3, c)
		palette = append(palette, c)
	}
	paletted := image.NewPaletted(nrgba.Bounds(), palette)
	for i := range colors {
		paletted.SetColorIndex(i%3, i/3, uint8(i))
	}
	var want, gray []float32
	for _, c := range colors {
		want = append(want, float32(c.R), float32(c.G), float32(c.B))
	}
	// round(0.299 R + 0.587 G + 0.114 B); 18.15 for the fourth.
	gray = []float32{76, 150, 29, 18, 0, 255}
	dir := t.TempDir()
	for name, img := range map[string]image.Image{"a.png": nrgba, "b.png": paletted, "c.gif": paletted, "d.bmp": nrgba} {
		path := filepath.Join(dir, name)
		saveImage(t, path, img)
		d, err := data.LoadImage(path, 0, 0, "")
		require.NoError(t, err)
		assert.Equal(t, []int{2, 3, 3}, shapeOf(d))
		assert.Equal(t, want, d.Elements(), name)
		d, err = data.LoadImage(path, 0, 0, data.Grayscale)
		require.NoError(t, err)
		assert.Equal(t, []int{2, 3, 1}, shapeOf(d))
		assert.Equal(t, gray, d.Elements(), name)
		d, err = data.LoadImage(path, 1, 1, data.RGBA)
		require.NoError(t, err)
		assert.Equal(t, []int{1, 1, 4}, shapeOf(d))
		assert.Equal(t, float32(255), d.Elements().([]float32)[3])
	}
	flat := image.NewGray(image.Rect(0, 0, 9, 9))
	for i := range flat.Pix {
		flat.Pix[i] = 77
	}
	for _, name := range []string{"e.jpg", "f.png"} {
		path := filepath.Join(dir, name)
		saveImage(t, path, flat)
		d, err := data.LoadImage(path, 4, 2, data.RGB)
		require.NoError(t, err)
		for _, v := range d.Elements().([]float32) {
			assert.InDelta(t, 77, v, 1)
		}
	}
}

// The file was made of rows of grey 20, 34, ..., 230, and the exact decoding of libjpeg (dct_method INTEGER_ACCURATE)
// gives just these.
func TestLoadImageJPEG(t *testing.T) {
	d, err := data.LoadImage("testdata/images/Zebras/i_jpeg.jpg", 0, 0, data.RGB)
	require.NoError(t, err)
	require.Equal(t, []int{16, 16, 3}, shapeOf(d))
	for i, v := range d.Elements().([]float32) {
		require.Equal(t, float32(20+14*(i/48)), v)
	}
}

// Transparency must not darken colours: the pixel is 200 under an alpha of 51, which premultiplied would be 40.
func TestLoadImageIsNotPremultiplied(t *testing.T) {
	img := image.NewNRGBA(image.Rect(0, 0, 1, 1))
	img.SetNRGBA(0, 0, color.NRGBA{R: 200, G: 100, B: 50, A: 51})
	path := filepath.Join(t.TempDir(), "a.png")
	saveImage(t, path, img)
	d, err := data.LoadImage(path, 0, 0, data.RGBA)
	require.NoError(t, err)
	assert.Equal(t, []float32{200, 100, 50, 51}, d.Elements())
}

func TestLoadImageRefusesHugeHeaders(t *testing.T) {
	var b bytes.Buffer
	require.NoError(t, png.Encode(&b, image.NewGray(image.Rect(0, 0, 2, 2))))
	path := filepath.Join(t.TempDir(), "a.png")
	for size, want := range map[uint32]string{1 << 13: "more than", 1 << 20: "at most 178956970 are read"} {
		file := bytes.Clone(b.Bytes())
		binary.BigEndian.PutUint32(file[16:], size)
		binary.BigEndian.PutUint32(file[20:], size)
		binary.BigEndian.PutUint32(file[29:], crc(file[12:29]))
		require.NoError(t, os.WriteFile(path, file, 0o600))
		_, err := data.LoadImage(path, 1, 1, data.RGB)
		require.ErrorContains(t, err, want)
	}
	_, err := data.LoadImage(path, 1, 0, data.RGB)
	require.ErrorContains(t, err, "size 1 x 0")
	_, err = data.LoadImage(path, math.MaxInt32, math.MaxInt32, data.RGB)
	require.ErrorContains(t, err, "too large for memory")
	_, err = data.LoadImage(path+".gone", 1, 1, data.RGB)
	require.ErrorIs(t, err, os.ErrNotExist)
}

func BenchmarkLoadImage(b *testing.B) {
	img := image.NewNRGBA(image.Rect(0, 0, 640, 480))
	for i := range img.Pix {
		img.Pix[i] = byte(i * i >> 7)
	}
	var file bytes.Buffer
	if err := jpeg.Encode(&file, img, nil); err != nil {
		b.Fatal(err)
	}
	path := filepath.Join(b.TempDir(), "a.jpg")
	if err := os.WriteFile(path, file.Bytes(), 0o600); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := data.LoadImage(path, 224, 224, data.RGB); err != nil {
			b.Fatal(err)
		}
	}
}

// A format that a program has registered itself is read without a bound on how far its bytes may be compressed.
func TestImageOfRegisteredFormat(t *testing.T) {
	image.RegisterFormat("drawing", "drawing", func(io.Reader) (image.Image, error) { return image.NewGray(image.Rect(0, 0, 2, 3)), nil },
		func(io.Reader) (image.Config, error) {
			return image.Config{ColorModel: color.GrayModel, Width: 2, Height: 3}, nil
		})
	path := filepath.Join(t.TempDir(), "some.drawing")
	require.NoError(t, os.WriteFile(path, []byte("drawing"), 0o600))
	x, err := data.LoadImage(path, 0, 0, data.RGB)
	require.NoError(t, err)
	require.Equal(t, []int{3, 2, 3}, []int(x.Shape()))
}
