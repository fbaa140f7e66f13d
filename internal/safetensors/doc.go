// Package safetensors reads and writes the safetensors format: named tensors in one file that can be trusted not to run
// code.
//
// A file is
//
//	8 bytes    N, little-endian
//	N bytes    JSON: {"name": {"dtype": "F32", "shape": [2, 3], "data_offsets": [begin, end]}, ..., "__metadata__": {"key": "text"}}
//	the rest   the tensors, row-major and little-endian; offsets count from here
//
// [Open] reads the header and checks all of it before anything else is done: its length against the file's and against
// [MaxHeader], names that occur twice, shapes against offsets, tensors that overlap, leave a hole or reach beyond the
// end. [Tensor.ReadInto] then reads straight into the slice that it is given. A file is safe for use from many
// goroutines.
//
// [Writer] writes what the reference implementation writes: the header padded with spaces so that the data is aligned
// to 8 bytes, tensors by falling alignment of their type and then by name, so that each is aligned too. The bytes of
// each tensor are asked for when they are due.
//
// The format is described at https://github.com/huggingface/safetensors#format.
package safetensors
