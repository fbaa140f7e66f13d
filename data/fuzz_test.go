package data_test

import (
	"bytes"
	"os"
	"reflect"
	"testing"

	"github.com/gokeras/gokeras/data"
)

// Whatever a reader accepts is a whole array that can be written and read again; everything else is an error, never a
// panic. The seeds are small files of every kind; those that once failed are in testdata/fuzz.

// checkArray holds a decoded array to its promises.
func checkArray(t *testing.T, d data.Array) {
	t.Helper()
	size := d.Len()
	if size < 1 || len(d.Data) != size*int(d.DType().Size()) {
		t.Fatalf("%d bytes for shape %v of %s", len(d.Data), d.Shape(), d.DType())
	}
	var file bytes.Buffer
	if err := data.WriteNPY(&file, d); err != nil {
		t.Fatal(err)
	}
	again, err := data.ReadNPY(&file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(again.Data, d.Data) || !reflect.DeepEqual(again.Shape(), d.Shape()) || again.DType() != d.DType() {
		t.Fatalf("%v of %s came back as %v of %s", d.Shape(), d.DType(), again.Shape(), again.DType())
	}
}

func FuzzReadIDX(f *testing.F) {
	f.Add(idx(0x08, []byte{1, 2, 3, 4, 5, 6}, 2, 3))
	f.Add(idx(0x0E, make([]byte, 16), 2))
	f.Add(idx(0x0B, []byte{1, 2}, 1<<31, 1<<31, 4))
	f.Add([]byte{0, 0, 8, 255})
	f.Fuzz(func(t *testing.T, file []byte) {
		if d, err := data.ReadIDX(bytes.NewReader(file)); err == nil {
			checkArray(t, d)
		}
	})
}

func FuzzReadNPY(f *testing.F) {
	for _, header := range []string{
		"{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }",
		"{'descr': '>i2', 'fortran_order': True, 'shape': (2, 2), }",
		"{'descr': '|b1', 'fortran_order': False, 'shape': (), }",
		"{'descr': '<f2', 'fortran_order': False, 'shape': (4L,), }",
		"{'descr': '<c8', 'fortran_order': False, 'shape': (1,)}",
		"{'descr': '<f8', 'fortran_order': False, 'shape': (4294967296, 4294967296)}",
		"{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (0,)}",
	} {
		f.Add(npy(1, header, "\x00\x3c\x00\x7e\x02\x00\x01\x00"))
		f.Add(npy(3, header, "\x02"))
	}
	f.Fuzz(func(t *testing.T, file []byte) {
		if d, err := data.ReadNPY(bytes.NewReader(file)); err == nil {
			checkArray(t, d)
		}
	})
}

func FuzzReadNPZ(f *testing.F) {
	dir := f.TempDir()
	if err := data.SaveNPZ(dir+"/a.npz", data.List(dense([]uint8{1, 2}, 2), dense([]float64{1}))); err != nil {
		f.Fatal(err)
	}
	small, err := os.ReadFile(dir + "/a.npz")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(small)
	f.Add(bytes.Replace(small, []byte("arr_1"), []byte("arr_0"), -1))
	f.Add(small[:len(small)-1])
	f.Fuzz(func(t *testing.T, file []byte) {
		arrays, err := data.ReadNPZ(bytes.NewReader(file), int64(len(file)))
		again, errAgain := opened(t, file)
		if (err == nil) != (errAgain == nil) || len(arrays.Arrays) != len(again.Arrays) {
			t.Fatalf("read at once: %v, array by array: %v", err, errAgain)
		}
		for i, d := range arrays.Arrays {
			checkArray(t, d)
			if !d.Equal(again.Arrays[i]) {
				t.Fatalf("array %d is %v, read by itself %v", i, d, again.Arrays[i])
			}
		}
	})
}

func FuzzReadCSV(f *testing.F) {
	for _, text := range []string{
		"a,b,label\n1,2,x\n3,4.5,y\n", "1;2\n3;4\n", "\ufeffa,b\n\"1\",\"2\"\n", "a\n1e999\nnan\n", "a,b\n1\n", "a,a\n,\n", "\"\n", "",
	} {
		f.Add(text, byte(0))
		f.Add(text, byte(0xff))
	}
	f.Fuzz(func(t *testing.T, text string, flags byte) {
		var options []data.CSVOption
		for bit, o := range []data.CSVOption{
			data.NoHeader(), data.Comma(';'), data.LabelIndex(-1), data.MissingValue(-1), data.ColumnIndices(0), data.LabelColumn("label"),
		} {
			if flags>>bit&1 != 0 {
				options = append(options, o)
			}
		}
		c, err := data.ReadCSV(bytes.NewReader([]byte(text)), options...)
		if err != nil {
			return
		}
		checkArray(t, c.X)
		if source := c.Source(); source.Err() != nil || source.N() != c.X.Shape()[0] {
			t.Fatalf("%d rows, %d examples: %v", c.X.Shape()[0], source.N(), source.Err())
		}
	})
}
