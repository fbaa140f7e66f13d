package applications

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strconv"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/layers"
)

// Prediction is one class predicted for an image.
type Prediction struct {
	ID    string  // in WordNet: "n02504458"
	Label string  // "African_elephant"
	Score float64 // as the network gives it
}

// DecodeOptions are the options of [DecodePredictions].
type DecodeOptions struct {
	Top        int    // number of classes per image; 0 is 5
	ClassIndex string // path of the file with the class names; "" looks for imagenet_class_index.json as Files says
	Files      Files
}

// classes is the number of ImageNet's classes.
const classes = 1000

var classIndexFile = published{name: "imagenet_class_index.json", path: "/download.tensorflow.org/data/imagenet_class_index.json", hash: "c2c37ea517e94d9795004a39431a14cb"}

// maxClassIndex limits the size of the file with the names; the published one has 35 kB.
const maxClassIndex = 4 << 20

// DecodePredictions returns, for each image, the ImageNet classes with the highest scores, best first. predictions has
// the shape (batch, 1000). Of equal scores, that of the lower class index comes first. It is
// keras.applications.imagenet_utils.decode_predictions.
func DecodePredictions(predictions data.Array, o DecodeOptions) ([][]Prediction, error) {
	decoded, err := decode(predictions, o)
	if err != nil {
		return nil, fmt.Errorf("applications: DecodePredictions: %w", err)
	}
	return decoded, nil
}

func decode(predictions data.Array, o DecodeOptions) ([][]Prediction, error) {
	if predictions.IsZero() {
		return nil, errors.New("the predictions are nil")
	}
	if s := predictions.Shape(); len(s) != 2 || s[1] != classes {
		return nil, fmt.Errorf("expected predictions of shape (batch, %d), received %v; a model with other Classes has names of its own", classes, layers.ShapeString(s))
	}
	if o.Top < 0 {
		return nil, fmt.Errorf("Top must be positive, received %d", o.Top)
	}
	if o.Top == 0 {
		o.Top = 5
	}
	scores, err := float64s(predictions)
	if err != nil {
		return nil, err
	}
	names, err := readClassIndex(o)
	if err != nil {
		return nil, err
	}
	out := make([][]Prediction, 0, len(scores)/classes)
	for row := range slices.Chunk(scores, classes) {
		best := make([]Prediction, 0, o.Top)
		for _, i := range highest(row, min(o.Top, classes)) {
			if math.IsNaN(row[i]) {
				return nil, fmt.Errorf("the score of class %d of image %d is not a number", i, len(out))
			}
			best = append(best, Prediction{names[i][0], names[i][1], row[i]})
		}
		out = append(out, best)
	}
	return out, nil
}

// highest returns the indices of the n largest numbers, NaN first.
func highest(row []float64, n int) []int {
	order := make([]int, len(row))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		switch x, y := row[a], row[b]; {
		case math.IsNaN(x) != math.IsNaN(y):
			if math.IsNaN(x) {
				return -1
			}
			return 1
		case x > y:
			return -1
		case x < y:
			return 1
		}
		return 0
	})
	return order[:n]
}

func float64s(a data.Array) ([]float64, error) {
	if !a.DType().IsFloat() {
		return nil, fmt.Errorf("expected predictions of float32 or float64, received %v", a.DType())
	}
	return a.Float64s(), nil
}

func readClassIndex(o DecodeOptions) ([][2]string, error) {
	path := o.ClassIndex
	if path == "" {
		var err error
		if path, err = o.Files.find(classIndexFile); err != nil {
			return nil, err
		}
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	raw, err := io.ReadAll(io.LimitReader(f, maxClassIndex+1))
	if err != nil {
		return nil, err
	}
	names, err := parseClassIndex(raw)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return names, nil
}

// parseClassIndex reads {"0": ["n01440764", "tench"], "1": ...}.
func parseClassIndex(raw []byte) ([][2]string, error) {
	if len(raw) > maxClassIndex {
		return nil, fmt.Errorf("the file is larger than %d bytes", maxClassIndex)
	}
	var entries map[string][]string
	if err := json.Unmarshal(raw, &entries); err != nil {
		return nil, fmt.Errorf("expected a JSON object such as {\"0\": [\"n01440764\", \"tench\"], ...}: %w", err)
	}
	names := make([][2]string, classes)
	for i := range names {
		e := entries[strconv.Itoa(i)]
		if len(e) != 2 {
			return nil, fmt.Errorf("expected an identifier and a name for each class from 0 to %d, class %d has %q", classes-1, i, e)
		}
		names[i] = [2]string(e)
	}
	return names, nil
}
