package tensorboard

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// masked is the checksum of a record.
func masked(data []byte) uint32 {
	c := crc32.Checksum(data, castagnoli)
	return (c>>15 | c<<17) + 0xa282ead8
}

// appendRecord adds a payload with its length and checksums.
func appendRecord(to, payload []byte) []byte {
	le := binary.LittleEndian
	begin := len(to)
	to = le.AppendUint64(to, uint64(len(payload)))
	to = le.AppendUint32(to, masked(to[begin:]))
	to = append(to, payload...)
	return le.AppendUint32(to, masked(payload))
}

// maxRecord limits a payload; protocol buffers have no larger messages.
const maxRecord = 1 << 31

// readRecord returns the next payload, and io.EOF at the end. Memory grows only with the data that is actually there.
func readRecord(r *bufio.Reader) ([]byte, error) {
	var head [12]byte
	if n, err := io.ReadFull(r, head[:]); err != nil {
		if n == 0 && err == io.EOF {
			return nil, io.EOF
		}
		return nil, fmt.Errorf("the file ends inside the length of a record: %w", err)
	}
	le := binary.LittleEndian
	if le.Uint32(head[8:]) != masked(head[:8]) {
		return nil, fmt.Errorf("the checksum of a record's length is wrong")
	}
	n := le.Uint64(head[:])
	if n > maxRecord {
		return nil, fmt.Errorf("a record of %d bytes; expected at most %d", n, maxRecord)
	}
	payload, err := io.ReadAll(io.LimitReader(r, int64(n)))
	if err == nil && uint64(len(payload)) < n {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return nil, fmt.Errorf("the file ends inside a record of %d bytes: %w", n, err)
	}
	if _, err := io.ReadFull(r, head[:4]); err != nil {
		return nil, fmt.Errorf("the file ends inside the checksum of a record: %w", err)
	}
	if le.Uint32(head[:]) != masked(payload) {
		return nil, fmt.Errorf("the checksum of a record is wrong")
	}
	return payload, nil
}
