package data_test

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
)

// idx makes a file of the given type and shape around a payload.
func idx(code byte, payload []byte, shape ...uint32) []byte {
	b := []byte{0, 0, code, byte(len(shape))}
	for _, d := range shape {
		b = binary.BigEndian.AppendUint32(b, d)
	}
	return append(b, payload...)
}

func gzipped(t testing.TB, content []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, err := z.Write(content)
	require.NoError(t, err)
	require.NoError(t, z.Close())
	return b.Bytes()
}

func TestReadIDX(t *testing.T) {
	double := binary.BigEndian.AppendUint64(nil, math.Float64bits(-2.5))
	for _, c := range []struct {
		file  []byte
		want  any
		shape []int
	}{
		{idx(0x08, []byte{1, 2, 250}, 3), []uint8{1, 2, 250}, []int{3}},
		{idx(0x09, []byte{1, 255}, 2, 1), []int8{1, -1}, []int{2, 1}},
		{idx(0x0B, []byte{1, 2, 255, 254}, 1, 2, 1), []int16{258, -2}, []int{1, 2, 1}},
		{idx(0x0C, []byte{0, 0, 1, 0}, 1), []int32{256}, []int{1}},
		{idx(0x0D, binary.BigEndian.AppendUint32(nil, math.Float32bits(1.5)), 1), []float32{1.5}, []int{1}},
		{idx(0x0E, double, 1, 1), []float64{-2.5}, []int{1, 1}},
	} {
		d, err := data.ReadIDX(bytes.NewReader(c.file))
		require.NoError(t, err)
		assert.Equal(t, c.want, d.Elements())
		assert.Equal(t, c.shape, shapeOf(d))
	}
}

func TestLoadIDXRecognisesGzip(t *testing.T) {
	dir := t.TempDir()
	content := make([]byte, 300*784) // more than the first piece of memory
	for i := range content {
		content[i] = byte(i * i >> 8)
	}
	plain := idx(0x08, content, 300, 28, 28)
	for name, file := range map[string][]byte{"plain": plain, "packed.gz": gzipped(t, plain), "plain.gz": plain, "packed": gzipped(t, plain)} {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, file, 0o600))
		d, err := data.LoadIDX(path)
		require.NoError(t, err, name)
		assert.Equal(t, content, d.Elements(), name)
	}
}

func TestLoadIDXRejects(t *testing.T) {
	dir := t.TempDir()
	_, err := data.LoadIDX(filepath.Join(dir, "gone"))
	require.ErrorIs(t, err, os.ErrNotExist)
	whole := idx(0x08, []byte{1, 2, 3, 4}, 2, 2)
	broken := gzipped(t, whole)
	broken[len(broken)-8] ^= 1 // the checksum
	for want, file := range map[string][]byte{
		"unexpected EOF":                       {0, 0},
		"not an IDX file":                      []byte("PNG....."),
		"rank 0":                               {0, 0, 8, 0},
		"rank 65":                              {0, 0, 8, 65},
		"dimensions: unexpected EOF":           {0, 0, 8, 2, 0, 0, 0, 1},
		"holds no values":                      idx(0x08, nil, 5, 0),
		"too large for memory":                 idx(0x0E, nil, math.MaxUint32, math.MaxUint32, math.MaxUint32),
		"promises 9 bytes of values, but only": idx(0x08, []byte{1, 2, 3, 4}, 3, 3),
		"more data follows":                    append(bytes.Clone(whole), 0),
		"gzip: invalid checksum":               broken,
		"gzip: invalid header":                 {0x1f, 0x8b, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0},
	} {
		path := filepath.Join(dir, "file")
		require.NoError(t, os.WriteFile(path, file, 0o600))
		_, err := data.LoadIDX(path)
		require.ErrorContains(t, err, want)
		assert.ErrorContains(t, err, "data: LoadIDX: "+path)
		if file[0] == 0 {
			_, err = data.ReadIDX(bytes.NewReader(file))
			require.ErrorContains(t, err, want)
		}
	}
}

// A small file that promises much must not cost much memory.
func TestHostileHeadersCostNoMemory(t *testing.T) {
	huge := idx(0x08, make([]byte, 1000), 1<<31, 1<<13) // 16 TiB
	bomb := gzipped(t, idx(0x08, make([]byte, 1<<16), 1<<31, 1<<13))
	path := filepath.Join(t.TempDir(), "bomb")
	require.NoError(t, os.WriteFile(path, bomb, 0o600))
	array := npy(1, "{'descr': '<f8', 'fortran_order': False, 'shape': (1099511627776,)}", "12345678")
	for name, read := range map[string]func() error{
		"idx":    func() error { _, err := data.ReadIDX(bytes.NewReader(huge)); return err },
		"idx.gz": func() error { _, err := data.LoadIDX(path); return err },
		"npy":    func() error { _, err := data.ReadNPY(bytes.NewReader(array)); return err },
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		require.ErrorContains(t, read(), "the header promises")
		runtime.ReadMemStats(&after)
		assert.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(2<<20), name)
	}
}

func ExampleReadIDX() {
	file := []byte{
		0, 0, 8, 2, // unsigned bytes, two axes
		0, 0, 0, 2, 0, 0, 0, 3, // 2 rows, 3 columns
		1, 2, 3, 4, 5, 6,
	}
	d, err := data.ReadIDX(bytes.NewReader(file))
	fmt.Println(d.Shape(), d.Elements(), err)
	// Output: [2 3] [1 2 3 4 5 6] <nil>
}
