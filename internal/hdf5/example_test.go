package hdf5_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/gokeras/gokeras/internal/hdf5"
)

// small is a file like that of a model with one Dense layer.
func small() *hdf5.File {
	w := hdf5.NewWriter()
	vars, err := w.Root().Group("layers/dense/vars")
	check(err)
	check(vars.SetAttribute("name", "head"))
	_, err = vars.Dataset("0", hdf5.Float32, []int{3, 2}, hdf5.Values([]float32{1, 2, 3, 4, 5, 6}))
	check(err)
	_, err = vars.Dataset("1", hdf5.Bfloat16, []int{2}, hdf5.Values([]uint16{0x3f80, 0x4000}))
	check(err)
	var b bytes.Buffer
	_, err = w.WriteTo(&b)
	check(err)
	f, err := hdf5.Open(bytes.NewReader(b.Bytes()), int64(b.Len()))
	check(err)
	return f
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}

func ExampleFile() {
	f := small() // hdf5.Open(r, size)
	kernel, err := f.Root().Dataset("layers/dense/vars/0")
	check(err)
	values, err := kernel.Float32s()
	check(err)
	fmt.Println(kernel.Shape(), values)
	// Output: [3 2] [1 2 3 4 5 6]
}

func ExampleGroup() {
	root := small().Root()
	names, err := root.Names()
	check(err)
	fmt.Println(names, root.Has("layers/dense/vars/1"), root.Has("layers/conv"))
	_, err = root.Group("layers/conv")
	fmt.Println(err, errors.Is(err, hdf5.ErrNotFound))
	// Output:
	// [layers] true false
	// hdf5: "/layers/conv": not found true
}

func ExampleObject() {
	check(small().Root().Walk(func(path string, o hdf5.Object) error {
		if d, ok := o.(*hdf5.Dataset); ok {
			fmt.Println(path, d.Shape(), d.Type())
		}
		return nil
	}))
	// Output:
	// layers/dense/vars/0 [3 2] float32
	// layers/dense/vars/1 [2] bfloat16
}

func ExampleDataset() {
	bias, err := small().Root().Dataset("layers/dense/vars/1")
	check(err)
	b := make([]byte, bias.Size())
	check(bias.ReadInto(b))
	values, err := bias.Float64s()
	check(err)
	fmt.Printf("%x %v\n", b, values)
	// Output: 803f0040 [1 2]
}

func ExampleAttribute() {
	vars, err := small().Root().Group("layers/dense/vars")
	check(err)
	name, err := vars.Attribute("name")
	check(err)
	text, err := name.Text()
	check(err)
	fmt.Println(text, name.Type())
	// Output: head string
}

func ExampleType() {
	bias, err := small().Root().Dataset("layers/dense/vars/1")
	check(err)
	fmt.Println(bias.Type() == hdf5.Bfloat16, hdf5.Float32, hdf5.Bool, hdf5.FixedString(5))
	// Output: true float32 bool string[5]
}

func ExampleClass() {
	fmt.Println(hdf5.Float16.Class, hdf5.Uint8.Class)
	// Output: float uint
}

func ExampleWriter() {
	w := hdf5.NewWriter()
	_, err := w.Root().Dataset("x", hdf5.Int32, []int{2}, hdf5.Values([]int32{7, 8}))
	check(err)
	size, err := w.Size() // known before the data is
	check(err)
	written, err := w.WriteTo(io.Discard)
	check(err)
	fmt.Println(size == written)
	// Output: true
}

func ExampleGroupWriter() {
	weights, err := hdf5.NewWriter().Root().Group("model_weights")
	check(err)
	check(weights.SetStringList("layer_names", []string{"dense", "dense_1"}))
	check(weights.SetAttribute("backend", "gokeras"))
	_, err = weights.Dataset("dense/dense/kernel:0", hdf5.Float32, []int{1, 1}, hdf5.Values([]float32{1, 2}))
	fmt.Println(err) // how much Data writes is checked when it does
	// Output: <nil>
}

func ExampleDatasetWriter() {
	d, err := hdf5.NewWriter().Root().Dataset("flags", hdf5.Bool, []int{2}, hdf5.Bytes([]byte{0, 1}))
	check(err)
	fmt.Println(d.SetAttribute("unit", "none"))
	// Output: <nil>
}

// Data that is made while it is written: nothing of the size of the dataset is in memory.
func ExampleData() {
	squares := hdf5.Data(func(w io.Writer) error {
		for i := range int64(1000) {
			if err := binary.Write(w, binary.LittleEndian, i*i); err != nil {
				return err
			}
		}
		return nil
	})
	w := hdf5.NewWriter()
	_, err := w.Root().Dataset("squares", hdf5.Int64, []int{10, 100}, squares)
	check(err)
	n, err := w.WriteTo(io.Discard)
	check(err)
	fmt.Println(n > 8000)
	// Output: true
}
