package main

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
)

// makeFiles writes texts whose words are as frequent as those of languages, pictures with noise, and numbers.
func makeFiles(folder string) error {
	r := rand.New(rand.NewPCG(1, 2))
	zipf := rand.NewZipf(r, 1.1, 1, 29999)
	var texts bytes.Buffer
	for range 20000 {
		for i := range 20 + r.IntN(280) {
			if i > 0 {
				texts.WriteByte(' ')
			}
			w := zipf.Uint64()
			fmt.Fprintf(&texts, "W%d", w)
			if w%7 == 0 {
				texts.WriteByte(',')
			}
		}
		texts.WriteString(".\n")
	}
	var table bytes.Buffer
	for row := range 100001 {
		for i := range 20 {
			if i > 0 {
				table.WriteByte(',')
			}
			if row == 0 {
				fmt.Fprintf(&table, "c%d", i)
			} else {
				fmt.Fprintf(&table, "%.6g", r.NormFloat64())
			}
		}
		table.WriteByte('\n')
	}
	for name, b := range map[string][]byte{"texts.txt": texts.Bytes(), "table.csv": table.Bytes()} {
		if err := os.WriteFile(filepath.Join(folder, name), b, 0o600); err != nil {
			return err
		}
	}
	for i := range 200 {
		if err := makePicture(folder, i, r); err != nil {
			return err
		}
	}
	return nil
}

func makePicture(folder string, i int, r *rand.Rand) error {
	const width, height = 500, 375
	img := image.NewNRGBA(image.Rect(0, 0, width, height))
	var waves [3][3]float64
	for k := range waves {
		waves[k] = [3]float64{r.Float64() / 20, r.Float64() / 20, r.Float64() * 6}
	}
	for y := range height {
		for x := range width {
			var v [3]uint8
			for k, w := range waves {
				v[k] = uint8(min(max(128+90*math.Sin(w[0]*float64(x)+w[1]*float64(y)+w[2])+6*r.NormFloat64(), 0), 255))
			}
			img.SetNRGBA(x, y, color.NRGBA{R: v[0], G: v[1], B: v[2], A: 255})
		}
	}
	var b bytes.Buffer
	if err := jpeg.Encode(&b, img, &jpeg.Options{Quality: 90}); err != nil {
		return err
	}
	files := map[string][]byte{fmt.Sprintf("jpg/a/%d.jpg", i): b.Bytes()}
	if i < 60 {
		var b bytes.Buffer
		if err := png.Encode(&b, img); err != nil {
			return err
		}
		files[fmt.Sprintf("png/a/%d.png", i)] = b.Bytes()
	}
	for name, b := range files {
		path := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(path, b, 0o600); err != nil {
			return err
		}
	}
	return nil
}
