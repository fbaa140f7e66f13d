package hdf5

import "encoding/binary"

// headerMessage is a message of an object header to be written.
type headerMessage struct {
	kind  uint16
	flags uint8
	body  []byte
}

// objectHeader is an object header of version 1.
func objectHeader(messages []headerMessage) []byte {
	le := binary.LittleEndian
	b := make([]byte, 16)
	for _, m := range messages {
		size := (len(m.body) + alignment - 1) / alignment * alignment
		b = le.AppendUint16(b, m.kind)
		b = le.AppendUint16(b, uint16(size))
		b = append(b, m.flags, 0, 0, 0)
		b = pad(append(b, m.body...))
	}
	b[0] = 1
	le.PutUint16(b[2:], uint16(len(messages)))
	le.PutUint32(b[4:], 1) // references
	le.PutUint32(b[8:], uint32(len(b)-16))
	return b
}

// spaceMessage is a dataspace message of version 1, with the shape as its maximum too, as h5py writes it.
func spaceMessage(shape []int) []byte {
	b := []byte{1, byte(len(shape)), 0, 0, 0, 0, 0, 0}
	if len(shape) == 0 {
		return b
	}
	b[2] = 1
	for range 2 {
		for _, n := range shape {
			b = binary.LittleEndian.AppendUint64(b, uint64(n))
		}
	}
	return b
}

// typeMessage is a datatype message of version 1.
func typeMessage(t Type) []byte {
	head := func(code uint8, bits uint32, size int) []byte {
		b := []byte{1<<4 | code, byte(bits), byte(bits >> 8), byte(bits >> 16)}
		return binary.LittleEndian.AppendUint32(b, uint32(size))
	}
	integer := func(signed uint32, size int) []byte {
		return append(head(codeInteger, signed<<3, size), 0, 0, byte(8*size), 0)
	}
	switch t.Class {
	case ClassInt:
		return integer(1, t.Size)
	case ClassUint:
		return integer(0, t.Size)
	case ClassFloat:
		// place and width of the exponent, place and width of the fraction, bias of the exponent
		layout := map[int][5]byte{2: {10, 5, 0, 10, 4}, 4: {23, 8, 0, 23, 7}, 8: {52, 11, 0, 52, 10}}[t.Size]
		b := head(codeFloat, 0x20|uint32(8*t.Size-1)<<8, t.Size) // a leading 1 is implied; place of the sign
		b = append(b, 0, 0, byte(8*t.Size), 0)
		b = append(b, layout[:4]...)
		return binary.LittleEndian.AppendUint32(b, 1<<layout[4]-1)
	case ClassBfloat16:
		return head(codeOpaque, 0, t.Size)
	case ClassBool:
		b := append(head(codeEnum, 2, 1), integer(1, 1)...)
		return append(b, "FALSE\x00\x00\x00TRUE\x00\x00\x00\x00\x00\x01"...)
	}
	if t.Variable { // a sequence of characters, marked as a string in UTF-8
		return append(head(codeVariable, 1|1<<8, t.Size), integer(0, 1)...)
	}
	return head(codeString, 1, t.Size)
}
