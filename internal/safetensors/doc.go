// Package safetensors reads and writes the safetensors format: named tensors in one file that cannot run code.
//
// A file is
//
//	8 bytes    N, little-endian
//	N bytes    JSON: {"name": {"dtype": "F32", "shape": [2, 3], "data_offsets": [begin, end]}, ..., "__metadata__": {"key": "text"}}
//	the rest   the tensors, row-major and little-endian; offsets count from here
//
// [Open] reads the header and checks it completely before anything else: its length against the file's and against
// [MaxHeader], duplicate names, shapes against offsets, tensors that overlap, leave gaps or extend past the end.
// [Tensor.ReadInto] then reads directly into the given slice. A file is safe for use from many goroutines.
//
// [Writer] writes what the reference implementation writes: the header padded with spaces so that the data is aligned
// to 8 bytes, tensors in decreasing alignment of their type and then by name, so that each is aligned too. The bytes of
// each tensor are requested when they are due.
//
// The format is described at https://github.com/huggingface/safetensors#format.
package safetensors
