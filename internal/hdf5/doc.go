// Package hdf5 reads and writes the HDF5 files that hold Keras weights, in pure Go.
//
// # Reading
//
// [Open] takes an [io.ReaderAt] and reads metadata on demand; the bytes of a contiguous dataset are read directly into
// the slice passed to [Dataset.ReadInto]. A file is safe for use from many goroutines.
//
//	file, err := hdf5.Open(r, size)
//	kernel, err := file.Root().Dataset("layers/dense/vars/0")
//	weights, err := kernel.Float32s()
//
// The reader supports what h5py writes, with default settings and with libver="latest":
//   - superblocks 0 to 3, a user block before them, offsets and lengths of 2, 4 and 8 bytes;
//   - object headers 1 and 2 with continuation, committed data types;
//   - groups as symbol tables (B-tree 1, local heap), as link messages, and dense (fractal heap, B-tree 2);
//   - attributes in the header and dense, of numbers and of strings of fixed and variable length (global heap);
//   - compact, contiguous and chunked storage with every chunk index (B-tree 1, single chunk, implicit, fixed array,
//     extensible array, B-tree 2) and the filters gzip, shuffle, Fletcher-32 and LZF;
//   - integers and IEEE floats of either byte order, bool (h5py's enumeration), bfloat16 (Keras's two opaque bytes with
//     the attribute dtype="bfloat16"), and strings.
//
// Other types (compound, reference, ...) are listed with their shape and can be read as bytes.
//
// # Untrusted files
//
// No input makes the reader panic, loop or use excessive memory: declared sizes are compared with the real size of the
// file before anything is allocated, trees must not visit a node twice, and a dataset that declares more than the file
// can hold is refused: more than its size, 1032 times that for compressed data (the limit of deflate), or 16 MiB where
// that is more. Checksums are verified where the format has them. Soft links, external links, external storage and
// virtual datasets point elsewhere, so following one is an error ([ErrLink], [ErrExternal]).
//
// # Writing
//
// [NewWriter] collects a tree of groups, datasets and attributes; [Writer.WriteTo] computes all addresses first and
// then writes the file from start to end, calling each dataset's [Data] when its bytes are due. So neither seeking nor
// a copy of the model is needed. The format is h5py's default (superblock 0, symbol tables, contiguous data), and the
// same tree gives the same bytes.
//
// The format is described in "HDF5 File Format Specification Version 3.0", The HDF Group.
package hdf5
