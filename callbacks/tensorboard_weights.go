package callbacks

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/gokeras/gokeras/internal/atomicfile"
	"github.com/gokeras/gokeras/kernels"
)

// named returns the paths and values of the model's weights, or nothing if the model does not tell.
func (c *TensorBoard) named() (paths []string, values []kernels.Array, err error) {
	m, ok := c.Model().(WeightedModel)
	if !ok {
		return nil, nil, nil
	}
	for _, v := range m.Weights() {
		paths = append(paths, v.Path())
	}
	values, err = c.Model().GetWeights()
	if err == nil && len(values) != len(paths) {
		err = fmt.Errorf("the model has %d weights and %d values", len(paths), len(values))
	}
	return paths, values, err
}

// readAlong reads the weights along with the worker that writes files, because all hosts must take part in reading
// weights that are sharded over them.
func (c *TensorBoard) readAlong(histograms, tables bool) error {
	for _, due := range []bool{histograms, tables} {
		if due {
			if _, _, err := c.named(); err != nil {
				return err
			}
		}
	}
	return nil
}

// weights writes histograms and pictures of all weights.
func (c *TensorBoard) weights(epoch int64) error {
	paths, values, err := c.named()
	if err != nil || len(paths) == 0 {
		return err
	}
	w, err := c.trainWriter()
	if err != nil {
		return err
	}
	for i, path := range paths {
		name := strings.ReplaceAll(path, ":", "_")
		numbers := values[i].Float64s()
		if err := w.Histogram(epoch, name+"/histogram", numbers); err != nil {
			return err
		}
		if !c.WriteImages {
			continue
		}
		if pixels, shape := asPicture(numbers, values[i].Type.Shape); shape != nil {
			if err := w.Images(epoch, name+"/image", pixels, shape[1], shape[2], shape[3]); err != nil {
				return err
			}
		}
	}
	return nil
}

// asPicture turns a weight into pictures (number, height, width, channels) as Keras does: a vector is a column; a
// matrix is turned so that its longer side is the width; with three axes, the last one counts the pictures; with four
// axes, they are pictures if the last axis can be channels. It returns a nil shape for weights that cannot be shown.
func asPicture(v []float64, shape []int) ([]float64, []int) {
	s := slices.DeleteFunc(slices.Clone(shape), func(d int) bool { return d == 1 })
	switch len(s) {
	case 1:
		return v, []int{1, s[0], 1, 1}
	case 2:
		if s[0] > s[1] {
			return transposed(v, s[0], s[1]), []int{1, s[1], s[0], 1}
		}
		return v, []int{1, s[0], s[1], 1}
	case 3:
		return transposed(v, s[0]*s[1], s[2]), []int{s[2], s[0], s[1], 1}
	case 4:
		if s[3] == 3 || s[3] == 4 {
			return v, s
		}
	}
	return nil, nil
}

func transposed(v []float64, rows, columns int) []float64 {
	out := make([]float64, len(v))
	for i := range rows {
		for j := range columns {
			out[j*rows+i] = v[i*columns+j]
		}
	}
	return out
}

// isEmbedding reports whether a weight is the table of an embedding layer, and returns the name of the layer.
func isEmbedding(path string) (layer string, ok bool) {
	parts := strings.Split(path, "/")
	if len(parts) < 2 || parts[len(parts)-1] != "embeddings" {
		return "", false
	}
	return parts[len(parts)-2], true
}

// tableFile returns the file for the table of a weight, relative to LogDir.
func tableFile(path string) string {
	return "embeddings/" + strings.NewReplacer("/", "_", ":", "_").Replace(path) + ".tsv"
}

// describeEmbeddings writes the configuration of the projector: the files of each layer's table and row names.
func (c *TensorBoard) describeEmbeddings() error {
	paths, _, err := c.named()
	if err != nil {
		return err
	}
	var text strings.Builder
	used := map[string]bool{}
	for _, path := range paths {
		layer, ok := isEmbedding(path)
		if !ok {
			continue
		}
		fmt.Fprintf(&text, "embeddings {\n  tensor_name: %q\n  tensor_path: %q\n", path, tableFile(path))
		if metadata := c.EmbeddingsMetadata[layer]; metadata != "" {
			fmt.Fprintf(&text, "  metadata_path: %q\n", metadata)
			used[layer] = true
		}
		text.WriteString("}\n")
	}
	for layer := range c.EmbeddingsMetadata {
		if !used[layer] {
			return fmt.Errorf("EmbeddingsMetadata names the layer %q, which is no embedding layer of the model", layer)
		}
	}
	if err := os.MkdirAll(c.dir(), 0o777); err != nil {
		return err
	}
	return atomicfile.Write(filepath.Join(c.dir(), "projector_config.pbtxt"), func(w io.Writer) error {
		_, err := io.WriteString(w, text.String())
		return err
	})
}

// embeddings writes the tables, with a row of numbers for each entry.
func (c *TensorBoard) embeddings() error {
	paths, values, err := c.named()
	if err != nil {
		return err
	}
	for i, path := range paths {
		if _, ok := isEmbedding(path); !ok || len(values[i].Type.Shape) != 2 {
			continue
		}
		file := filepath.Join(c.dir(), filepath.FromSlash(tableFile(path)))
		if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
			return err
		}
		width := values[i].Type.Shape[1]
		numbers := values[i].Float64s()
		err := atomicfile.Write(file, func(w io.Writer) error {
			b := bufio.NewWriter(w)
			for j, v := range numbers {
				_, _ = b.WriteString(strconv.FormatFloat(v, 'g', 9, 32)) // Flush reports the error
				_ = b.WriteByte(map[bool]byte{true: '\n', false: '\t'}[(j+1)%width == 0])
			}
			return b.Flush()
		})
		if err != nil {
			return err
		}
	}
	return nil
}
