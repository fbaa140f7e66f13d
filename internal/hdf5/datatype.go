package hdf5

import "bytes"

// The classes of the datatype message.
const (
	codeInteger = iota
	codeFloat
	codeTime
	codeString
	codeBitfield
	codeOpaque
	codeCompound
	codeReference
	codeEnum
	codeVariable
	codeArray
)

const maxTypeDepth = 8

// parseDatatype reads a datatype message. depth counts the types around it.
func parseDatatype(c *cursor, depth int) (Type, error) {
	first := c.u8()
	code, version := first&15, first>>4
	bits := uint32(c.uint(3))
	size := c.u32()
	switch {
	case c.err != nil:
		return Type{}, c.err
	case version < 1 || version > 5:
		return Type{}, unsupported("%s of version %d", c.what, version)
	case size == 0:
		return Type{}, corrupt("%s: elements of 0 bytes", c.what)
	case size > 1<<30:
		return Type{}, corrupt("%s: elements of %d bytes", c.what, size)
	case depth > maxTypeDepth:
		return Type{}, corrupt("%s: nested more than %d deep", c.what, maxTypeDepth)
	}
	t := Type{Size: int(size)}
	switch code {
	case codeInteger, codeBitfield:
		t.Class = ClassUint
		if code == codeBitfield {
			t.Class = ClassBitfield
		} else if bits&8 != 0 {
			t.Class = ClassInt
		}
		t.BigEndian = bits&1 != 0 && t.Size > 1
		offset, precision := c.u16(), c.u16()
		if offset != 0 || int(precision) != 8*t.Size || t.Size > 8 || t.Size&(t.Size-1) != 0 {
			t.odd = "an integer whose bits do not fill 1, 2, 4 or 8 bytes"
		}
	case codeFloat:
		parseFloat(c, bits, &t)
	case codeTime:
		t.Class, t.odd = ClassTime, "the class time"
		c.skip(2)
	case codeString:
		t.Class = ClassString
		switch bits & 15 {
		case 0:
			t.padding = nulTerminated
		case 2:
			t.padding = spacePadded
		}
	case codeOpaque:
		t.Class = ClassOpaque
		c.skip((int(bits&0xff) + 7) / 8 * 8) // the tag
	case codeCompound:
		t.Class, t.odd = ClassCompound, "a compound type"
		return t, parseMembers(c, t.Size, int(bits&0xffff), int(version), depth)
	case codeReference:
		t.Class, t.odd = ClassReference, "a reference"
	case codeEnum:
		return parseEnum(c, t, int(bits&0xffff), int(version), depth)
	case codeVariable:
		return parseVariable(c, t, bits, depth)
	case codeArray:
		return parseArray(c, t, int(version), depth)
	default:
		return Type{}, unsupported("%s of class %d", c.what, code)
	}
	return t, c.err
}

// parseFloat reads the layout of a float. Interpreted are IEEE's three and bfloat16.
func parseFloat(c *cursor, bits uint32, t *Type) {
	t.Class = ClassFloat
	t.BigEndian = bits&1 != 0
	sign := uint8(bits >> 8)
	offset, precision := c.u16(), c.u16()
	exponentAt, exponentBits, mantissaAt, mantissaBits := c.u8(), c.u8(), c.u8(), c.u8()
	bias := c.u32()
	type layout struct {
		size         int
		mantissaBits uint8
		exponentBits uint8
		bias         uint32
	}
	known := offset == 0 && int(precision) == 8*t.Size && int(sign) == 8*t.Size-1 && mantissaAt == 0 &&
		exponentAt == mantissaBits && bits&0x40 == 0 && bits>>4&3 == 2
	switch (layout{t.Size, mantissaBits, exponentBits, bias}) {
	case layout{2, 10, 5, 15}, layout{4, 23, 8, 127}, layout{8, 52, 11, 1023}:
	case layout{2, 7, 8, 127}:
		t.Class = ClassBfloat16
	default:
		known = false
	}
	if !known {
		t.odd = "a float that is none of binary16, bfloat16, binary32, binary64"
	}
}

// parseMembers skips the members of a compound type, so that what follows can be read.
func parseMembers(c *cursor, total, n, version, depth int) error {
	for range n {
		readName(c, version)
		if version < 3 {
			c.skip(4)
			if version == 1 {
				c.skip(1 + 3 + 4 + 4 + 4*4) // rank, reserved, permutation, reserved, axes
			}
		} else {
			c.skip(bytesFor(uint64(total))) // the offset
		}
		if c.err != nil {
			return c.err
		}
		if _, err := parseDatatype(c, depth+1); err != nil {
			return err
		}
	}
	return c.err
}

// readName reads a name that ends in NUL; before version 3 it is padded to a multiple of 8 bytes.
func readName(c *cursor, version int) string {
	end := bytes.IndexByte(c.b[c.pos:], 0)
	if end < 0 {
		if c.err == nil {
			c.err = corrupt("%s: a name without end", c.what)
		}
		return ""
	}
	name := string(c.bytes(end))
	if version < 3 {
		c.skip((end+8)/8*8 - end)
	} else {
		c.skip(1)
	}
	return name
}

// parseEnum reads an enumeration; that of FALSE 0 and TRUE 1 in one byte is h5py's bool.
func parseEnum(c *cursor, t Type, n, version, depth int) (Type, error) {
	base, err := parseDatatype(c, depth+1)
	if err != nil {
		return Type{}, err
	}
	if (base.Class != ClassInt && base.Class != ClassUint) || base.Size != t.Size {
		return Type{}, corrupt("%s: an enumeration of %d bytes over %s", c.what, t.Size, base)
	}
	names := make([]string, 0, 2)
	for range n {
		name := readName(c, version)
		if c.err != nil {
			return Type{}, c.err
		}
		if len(names) < 3 {
			names = append(names, name)
		}
	}
	values := c.bytes(n * t.Size)
	if c.err != nil {
		return Type{}, c.err
	}
	if n == 2 && t.Size == 1 && names[0] == "FALSE" && names[1] == "TRUE" && values[0] == 0 && values[1] == 1 {
		t.Class = ClassBool
		return t, nil
	}
	t.Class, t.Base, t.BigEndian, t.odd = ClassEnum, &base, base.BigEndian, base.odd
	return t, nil
}

// parseVariable reads a type of variable length: its elements are a count, and an object of a global heap.
func parseVariable(c *cursor, t Type, bits uint32, depth int) (Type, error) {
	base, err := parseDatatype(c, depth+1)
	if err != nil {
		return Type{}, err
	}
	if want := 4 + c.f.offsetSize + 4; t.Size != want {
		return Type{}, corrupt("%s: references of %d bytes to variable-length data, expected %d", c.what, t.Size, want)
	}
	t.Variable = true
	if bits&15 == 1 {
		t.Class = ClassString
		return t, nil
	}
	t.Class, t.Base, t.odd = ClassSequence, &base, "a variable-length sequence"
	return t, nil
}

func parseArray(c *cursor, t Type, version, depth int) (Type, error) {
	rank := int(c.u8())
	if version < 3 {
		c.skip(3)
	}
	c.skip(4 * rank)
	if version < 3 {
		c.skip(4 * rank)
	}
	if c.err != nil {
		return Type{}, c.err
	}
	base, err := parseDatatype(c, depth+1)
	if err != nil {
		return Type{}, err
	}
	t.Class, t.Base, t.odd = ClassArray, &base, "an array type"
	return t, nil
}

// bytesFor is the number of bytes that an integer up to limit takes.
func bytesFor(limit uint64) int {
	n := 1
	for ; limit > 255; limit >>= 8 {
		n++
	}
	return n
}
