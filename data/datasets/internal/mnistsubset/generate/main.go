// Command generate makes the files of package mnistsubset from the four files of the MNIST database.
package main

import (
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/gokeras/gokeras/data/datasets"
	"github.com/gokeras/gokeras/data/datasets/internal/mnistsubset"
)

func main() {
	log.SetFlags(0)
	source := flag.String("mnist", "", "folder of the four IDX files of MNIST, plain or .gz")
	target := flag.String("out", ".", "folder to write to")
	flag.Parse()
	if err := generate(*source, *target); err != nil {
		log.Fatalf("generate: %v", err)
	}
}

func generate(source, target string) error {
	if source == "" {
		return errors.New("-mnist is missing; expected the folder of the IDX files")
	}
	mnist, err := datasets.MNIST(datasets.Directory(source))
	if err != nil {
		return err
	}
	for _, set := range []struct {
		split                  datasets.Split
		perDigit               int
		imagesFile, labelsFile string
	}{
		{mnist.Train, mnistsubset.TrainImages / 10, mnistsubset.TrainImagesFile, mnistsubset.TrainLabelsFile},
		{mnist.Test, mnistsubset.TestImages / 10, mnistsubset.TestImagesFile, mnistsubset.TestLabelsFile},
	} {
		pixels, labels, err := choose(set.split, set.perDigit)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(target, set.imagesFile), mnistsubset.Pack(pixels), 0o644); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(target, set.labelsFile), labels, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// choose takes perDigit images of each digit, spread evenly over its images, in the order of the file.
func choose(set datasets.Split, perDigit int) (pixels, labels []byte, err error) {
	all := set.Labels.Elements().([]byte)
	var total, seen [10]int
	for _, digit := range all {
		if digit > 9 {
			return nil, nil, fmt.Errorf("label %d; expected 0 to 9", digit)
		}
		total[digit]++
	}
	raw := set.Images.Elements().([]byte)
	var taken [10]int
	for i, digit := range all {
		if taken[digit] < perDigit && seen[digit] == taken[digit]*total[digit]/perDigit {
			taken[digit]++
			labels = append(labels, digit)
			pixels = append(pixels, raw[i*mnistsubset.Pixels:(i+1)*mnistsubset.Pixels]...)
		}
		seen[digit]++
	}
	if want := 10 * perDigit; len(labels) != want {
		return nil, nil, fmt.Errorf("%d images were chosen; expected %d", len(labels), want)
	}
	return pixels, labels, nil
}
