package hdf5

import (
	"fmt"
	"math"
	"math/bits"
	"slices"
)

// Dataset is an array in an HDF5 file.
type Dataset struct {
	object
	typ     Type
	space   dataspace
	layout  layout
	filters []filter
	fill    []byte // one element, or nil for zeros
	outside string // why the data is not in the file, or ""
}

// read reads the description of the dataset from its header.
func (d *Dataset) read() error {
	f, h := d.f, d.header
	need := func(kind uint16, what string) (*cursor, error) {
		c, err := h.find(f, kind, what)
		if err == nil && c == nil {
			err = corrupt("a dataset without %s", what)
		}
		return c, err
	}
	c, err := need(messageDataspace, "data space")
	if err != nil {
		return err
	}
	if d.space, err = parseDataspace(c); err != nil {
		return err
	}
	if c, err = need(messageDatatype, "data type"); err != nil {
		return err
	}
	if d.typ, err = parseDatatype(c, 0); err != nil {
		return err
	}
	if c, err = need(messageLayout, "data layout"); err != nil {
		return err
	}
	if d.layout, err = parseLayout(c, len(d.space.shape), d.typ.Size); err != nil {
		return err
	}
	if c, err = h.find(f, messageFilters, "filters"); err != nil {
		return err
	} else if c != nil {
		if d.filters, err = parseFilters(c); err != nil {
			return err
		}
	}
	if err := d.readFill(); err != nil {
		return err
	}
	if h.has(messageExternal) {
		d.outside = "it is in external files"
	} else if d.layout.class == layoutVirtual {
		d.outside = "it is a virtual dataset"
	}
	if d.typ.Class == ClassOpaque && d.typ.Size == 2 && d.saysBfloat16() {
		d.typ = Bfloat16
	}
	return d.checkSize()
}

// saysBfloat16 looks for the attribute dtype="bfloat16" in the header, which holds the attributes if there are at most
// eight.
func (d *Dataset) saysBfloat16() bool {
	for _, m := range d.header.messages {
		if m.kind == messageAttribute && m.flags&flagShared == 0 {
			a, err := parseAttribute(d.f.cursor(m.body, "attribute"))
			if err == nil && a.name == "dtype" {
				name, err := a.Text()
				return err == nil && name == "bfloat16"
			}
		}
	}
	return false
}

// readFill reads the value of elements that were never written.
func (d *Dataset) readFill() error {
	c, err := d.header.find(d.f, messageFill, "fill value")
	if err != nil {
		return err
	}
	if c != nil {
		switch version := c.version(1, 2, 3); version {
		case 3:
			if flags := c.u8(); flags&32 == 0 {
				return c.err
			}
		default:
			c.skip(2)
			if defined := c.u8(); defined == 0 && version == 2 {
				return c.err
			}
		}
	} else if c, err = d.header.find(d.f, messageFillOld, "fill value"); c == nil || err != nil {
		return err
	}
	n := c.u32()
	if c.err == nil && n > 0 && int(n) != d.typ.Size {
		return corrupt("a fill value of %d bytes for elements of %d", n, d.typ.Size)
	}
	if n > 0 {
		d.fill = c.bytes(int(n))
	}
	return c.err
}

// spareBytes is the size that a dataset may always declare, however small the file is: 16 MiB.
const spareBytes = 16 << 20

// limit returns how many bytes a dataset may declare: as many as the file has, or 1032 times that if its chunks are
// compressed, because deflate packs at most that many bytes into one.
func (d *Dataset) limit() uint64 {
	most := min(d.f.size, math.MaxInt64/1032)
	for _, f := range d.filters {
		if f.id == filterDeflate || f.id == filterLZF {
			return max(spareBytes, 1032*most)
		}
	}
	return max(spareBytes, most)
}

// checkSize compares what the dataset declares with what the file holds.
func (d *Dataset) checkSize() error {
	high, size := bits.Mul64(d.space.count, uint64(d.typ.Size))
	limit, l := d.limit(), &d.layout
	switch {
	case high != 0 || size > limit:
		return corrupt("a dataset of shape %v and type %s in a file of %d bytes", d.space.shape, d.typ, d.f.size)
	case d.outside != "" || size == 0:
	case l.class == layoutCompact && uint64(len(l.data)) < size:
		return corrupt("%d bytes of compact data, the shape %v and the type %s need %d", len(l.data), d.space.shape, d.typ, size)
	case l.class == layoutContiguous && l.address != undefined:
		if l.size < size {
			return corrupt("%d bytes of data, the shape %v and the type %s need %d", l.size, d.space.shape, d.typ, size)
		}
		return d.f.inside(l.address, size, "data")
	case l.class == layoutChunked && l.chunkBytes > limit:
		return corrupt("chunks of %d bytes in a file of %d", l.chunkBytes, d.f.size)
	}
	return nil
}

// Shape gives the axes; it is empty and not nil for a scalar, and nil for a null dataset (h5py.Empty), which has no
// elements.
func (d *Dataset) Shape() []int { return slices.Clone(d.space.shape) }

// Len is the number of elements: the product of Shape.
func (d *Dataset) Len() int { return int(d.space.count) }

// Type is the type of the elements. Two opaque bytes with the attribute dtype="bfloat16", Keras's form, are Bfloat16.
func (d *Dataset) Type() Type { return d.typ }

// Size is the number of bytes that ReadInto fills: Len()·Type().Size. It is checked against the size of the file when
// the dataset is opened, so that allocating it is safe.
func (d *Dataset) Size() int64 { return int64(d.space.count) * int64(d.typ.Size) }

// ReadInto reads all elements, row-major and little-endian, into dst, which must have Size() bytes. It cannot read
// strings of variable length; use Strings.
func (d *Dataset) ReadInto(dst []byte) error {
	if int64(len(dst)) != d.Size() {
		return d.wrap(fmt.Errorf("hdf5: ReadInto got %d bytes, expected %d: shape %v of %s", len(dst), d.Size(), d.space.shape, d.typ))
	}
	if d.typ.Variable {
		return d.wrap(unsupported("elements of variable length as bytes (use Strings)"))
	}
	return d.readRaw(dst)
}

// readRaw is ReadInto without regard to what the elements mean.
func (d *Dataset) readRaw(dst []byte) error {
	if err := d.readFile(dst); err != nil {
		return d.wrap(err)
	}
	if d.typ.swaps() {
		swap(dst, d.typ.Size)
	}
	return nil
}

func (d *Dataset) readFile(dst []byte) error {
	l := &d.layout
	switch {
	case d.outside != "":
		return fmt.Errorf("hdf5: %w: %s", ErrExternal, d.outside)
	case len(dst) == 0:
		return nil
	case l.class == layoutCompact:
		copy(dst, l.data)
		return nil
	case l.class == layoutChunked:
		return d.readChunks(dst)
	case l.address == undefined:
		d.fillWith(dst)
		return nil
	}
	return d.f.readInto(dst, l.address, "data")
}

// fillWith writes the fill value into all elements.
func (d *Dataset) fillWith(dst []byte) {
	if d.fill == nil {
		clear(dst)
		return
	}
	for n := copy(dst, d.fill); n < len(dst); n *= 2 {
		copy(dst[n:], dst[:n])
	}
}

func (d *Dataset) wrap(err error) error {
	if err != nil {
		err = fmt.Errorf("dataset %q: %w", d.path, err)
	}
	return err
}

// raw reads all elements as little-endian bytes.
func (d *Dataset) raw() ([]byte, error) {
	b := make([]byte, d.Size())
	return b, d.readRaw(b)
}

// Float32s reads any numeric or bool dataset as float32, rounded if the type of the file has more precision.
func (d *Dataset) Float32s() ([]float32, error) {
	if d.typ.Class == ClassFloat && d.typ.Size == 4 && d.typ.odd == "" && littleEndian {
		values := make([]float32, d.Len())
		return values, d.readRaw(memory(values))
	}
	return readFloats[float32](d)
}

// Float64s reads any numeric or bool dataset as float64.
func (d *Dataset) Float64s() ([]float64, error) { return readFloats[float64](d) }

func readFloats[T float32 | float64](d *Dataset) ([]T, error) {
	if problem := d.typ.numeric(false); problem != "" {
		return nil, d.wrap(unsupported("%s", problem))
	}
	b, err := d.raw()
	if err != nil {
		return nil, err
	}
	return toFloats[T](d.typ, b), nil
}

// Int64s reads any integer or bool dataset; a uint64 beyond int64 is an error.
func (d *Dataset) Int64s() ([]int64, error) {
	if problem := d.typ.numeric(true); problem != "" {
		return nil, d.wrap(unsupported("%s", problem))
	}
	b, err := d.raw()
	if err != nil {
		return nil, err
	}
	values, err := toInts(d.typ, b)
	return values, d.wrap(err)
}

// Strings reads a dataset of strings of fixed or variable length.
func (d *Dataset) Strings() ([]string, error) {
	if d.typ.Class != ClassString {
		return nil, d.wrap(unsupported("%s, expected strings", d.typ))
	}
	b, err := d.raw()
	if err != nil {
		return nil, err
	}
	values, err := d.f.toStrings(d.typ, b)
	return values, d.wrap(err)
}
