package hdf5

import (
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"strconv"
)

// Attribute is a small named array that belongs to an object. Its methods mean what those of [Dataset] mean.
type Attribute struct {
	f     *File
	owner string // path of the object
	name  string
	typ   Type
	space dataspace
	data  []byte // as in the file
}

// parseAttribute reads an attribute message. The data is what the message holds, so its size is bounded by the file's.
func parseAttribute(c *cursor) (*Attribute, error) {
	f := c.f
	version := c.version(1, 2, 3)
	flags := c.u8()
	nameSize, typeSize, spaceSize := int(c.u16()), int(c.u16()), int(c.u16())
	if version == 3 {
		c.skip(1) // character set of the name
	}
	part := func(n int) []byte {
		b := c.bytes(n)
		if version == 1 {
			c.skip((n+7)/8*8 - n)
		}
		return b
	}
	name, typeBody, spaceBody := part(nameSize), part(typeSize), part(spaceSize)
	if c.err != nil {
		return nil, c.err
	}
	for len(name) > 0 && name[len(name)-1] == 0 {
		name = name[:len(name)-1]
	}
	a := &Attribute{f: f, name: string(name)}
	shared := message{body: typeBody}
	if version > 1 && flags&1 != 0 {
		shared.flags = flagShared
	}
	body, err := f.body(shared, messageDatatype, "data type")
	if err != nil {
		return nil, err
	}
	if a.typ, err = parseDatatype(f.cursor(body, "data type of attribute"), 0); err != nil {
		return nil, fmt.Errorf("%q: %w", clip(a.name), err)
	}
	if version > 1 && flags&2 != 0 {
		return nil, unsupported("attribute %q with a shared data space", clip(a.name))
	}
	if a.space, err = parseDataspace(f.cursor(spaceBody, "shape of attribute")); err != nil {
		return nil, fmt.Errorf("%q: %w", clip(a.name), err)
	}
	high, size := bits.Mul64(a.space.count, uint64(a.typ.Size))
	if high != 0 || size > uint64(c.left()) {
		return nil, corrupt("attribute %q: %d elements of %d bytes, %d bytes are left", clip(a.name), a.space.count, a.typ.Size,
			c.left())
	}
	a.data = c.bytes(int(size))
	return a, nil
}

// Name is the attribute's name.
func (a *Attribute) Name() string { return a.name }

// Type is the type of the elements.
func (a *Attribute) Type() Type { return a.typ }

// Shape gives the axes; it is empty and not nil for a scalar, and nil for h5py.Empty.
func (a *Attribute) Shape() []int { return slices.Clone(a.space.shape) }

// Text gives the only element of a string attribute.
func (a *Attribute) Text() (string, error) {
	values, err := a.Strings()
	if err != nil {
		return "", err
	}
	if len(values) != 1 {
		return "", fmt.Errorf("hdf5: attribute %q of %q has %d elements, expected one string", a.name, a.owner, len(values))
	}
	return values[0], nil
}

// Strings gives all elements of a string attribute.
func (a *Attribute) Strings() ([]string, error) {
	if a.space.count == 0 { // NumPy gives an empty list of strings the type float64
		return []string{}, nil
	}
	values, err := a.f.toStrings(a.typ, a.data)
	return values, a.wrap(err)
}

// Int64s gives all elements of an integer or bool attribute.
func (a *Attribute) Int64s() ([]int64, error) {
	if problem := a.typ.numeric(true); problem != "" {
		return nil, a.wrap(unsupported("%s", problem))
	}
	values, err := toInts(a.typ, a.little())
	return values, a.wrap(err)
}

// Float64s gives all elements of a numeric or bool attribute.
func (a *Attribute) Float64s() ([]float64, error) {
	if problem := a.typ.numeric(false); problem != "" {
		return nil, a.wrap(unsupported("%s", problem))
	}
	return toFloats[float64](a.typ, a.little()), nil
}

func (a *Attribute) wrap(err error) error {
	if err != nil {
		err = fmt.Errorf("attribute %q of %q: %w", clip(a.name), a.owner, err)
	}
	return err
}

// little gives the data with little-endian elements.
func (a *Attribute) little() []byte {
	if !a.typ.swaps() {
		return a.data
	}
	b := slices.Clone(a.data)
	swap(b, a.typ.Size)
	return b
}

// StringList reads a list of strings as Keras's legacy files store it: in the attribute name, or, where that would be
// too long for a header, in the attributes name0, name1, ... The error wraps ErrNotFound where there is neither.
func StringList(o Object, name string) ([]string, error) {
	a, err := o.Attribute(name)
	if err == nil {
		return a.Strings()
	}
	missing := err
	var all []string
	for i := 0; errors.Is(err, ErrNotFound); i++ {
		part, partErr := o.Attribute(name + strconv.Itoa(i))
		if errors.Is(partErr, ErrNotFound) && i > 0 {
			return all, nil
		}
		if partErr != nil {
			break
		}
		values, partErr := part.Strings()
		if partErr != nil {
			return nil, partErr
		}
		all = append(all, values...)
	}
	return nil, missing
}
