package safetensors_test

import (
	"bytes"
	"fmt"

	"github.com/gokeras/gokeras/internal/safetensors"
)

func check(err error) {
	if err != nil {
		panic(err)
	}
}

func ExampleWriter() {
	var w safetensors.Writer
	check(w.SetMetadata("format", "gokeras"))
	check(w.Add("dense/bias", safetensors.BF16, []int{2}, safetensors.Bytes([]byte{0x80, 0x3f, 0, 0x40})))
	var b bytes.Buffer
	_, err := w.WriteTo(&b)
	check(err)
	fmt.Println(b.Len()%8, b.String()[8:40])
	// Output: 4 {"__metadata__":{"format":"goker
}

func ExampleFile() {
	var w safetensors.Writer
	check(w.Add("dense/bias", safetensors.BF16, []int{2}, safetensors.Bytes([]byte{0x80, 0x3f, 0, 0x40})))
	var b bytes.Buffer
	_, err := w.WriteTo(&b)
	check(err)

	f, err := safetensors.Open(bytes.NewReader(b.Bytes()), int64(b.Len()))
	check(err)
	bias, err := f.Tensor("dense/bias")
	check(err)
	values, err := bias.Float32s()
	check(err)
	fmt.Println(bias.Shape(), values)
	// Output: [2] [1 2]
}

func ExampleTensor() {
	header := `{"x":{"dtype":"U8","shape":[2],"data_offsets":[0,2]}}`
	b := append([]byte{byte(len(header)), 0, 0, 0, 0, 0, 0, 0}, header+"\x05\x06"...)
	f, err := safetensors.Open(bytes.NewReader(b), int64(len(b)))
	check(err)
	for _, tensor := range f.Tensors() {
		data := make([]byte, tensor.Size())
		check(tensor.ReadInto(data))
		fmt.Println(tensor.Name(), tensor.DType(), tensor.Shape(), data)
	}
	// Output: x U8 [2] [5 6]
}

func ExampleDType() {
	fmt.Println(safetensors.F16.Bits(), safetensors.DType("F31").Bits())
	// Output: 16 0
}

func ExampleData() {
	var w safetensors.Writer
	check(w.Add("x", safetensors.U8, []int{1}, safetensors.Bytes([]byte{1, 2})))
	_, err := w.WriteTo(new(bytes.Buffer))
	fmt.Println(err)
	// Output: safetensors: writing tensor "x": its Data writes more than its shape and type say
}
