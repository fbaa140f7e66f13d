package datasets_test

import (
	"bytes"
	"compress/gzip"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// A data set in four tiny files: three training and two test images of 2 x 1 pixels.
const (
	trainImages = "\x00\x00\x08\x03\x00\x00\x00\x03\x00\x00\x00\x02\x00\x00\x00\x01\x01\x02\x03\x04\x05\x06"
	trainLabels = "\x00\x00\x08\x01\x00\x00\x00\x03\x07\x08\x09"
	testImages  = "\x00\x00\x08\x03\x00\x00\x00\x02\x00\x00\x00\x02\x00\x00\x00\x01\x0a\x0b\x0c\x0d"
	testLabels  = "\x00\x00\x08\x01\x00\x00\x00\x02\x0e\x0f"
)

var small = map[string]string{
	"train-images-idx3-ubyte": trainImages, "train-labels-idx1-ubyte": trainLabels,
	"t10k-images-idx3-ubyte": testImages, "t10k-labels-idx1-ubyte": testLabels,
}

func writeSmall(t *testing.T, dir string, packed bool) {
	t.Helper()
	for name, content := range small {
		writeFile(t, dir, name, content, packed)
	}
}

func writeFile(t *testing.T, dir, name, content string, packed bool) {
	t.Helper()
	bytes := []byte(content)
	if packed {
		name, bytes = name+".gz", gzipped(t, content)
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, name), bytes, 0o600))
}

func gzipped(t *testing.T, content string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, err := z.Write([]byte(content))
	require.NoError(t, err)
	require.NoError(t, z.Close())
	return b.Bytes()
}
