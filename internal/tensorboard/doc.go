// Package tensorboard writes and reads the event files that TensorBoard shows.
//
// An event file is a sequence of records: the length of the payload (uint64, little endian), its checksum, the payload
// and its checksum. A checksum is the CRC-32C, rotated right by 15 bits, plus 0xa282ead8. The payload is a
// protocol-buffer message tensorflow.Event: a wall time and a step with either the version of the file or a summary of
// named tensors, whose metadata say which of TensorBoard's plugins shows them.
package tensorboard
