package hdf5

import (
	"errors"
	"fmt"
	"io"
	"math"
	"math/bits"
	"slices"
	"strings"
)

// Data writes the bytes of one dataset, row-major and little-endian, to w. It is called once for each WriteTo, when
// these bytes are due, and must write exactly as many as the dataset's shape and type say.
type Data func(w io.Writer) error

// Bytes is the Data of a slice, which is not copied.
func Bytes(b []byte) Data {
	return func(w io.Writer) error {
		_, err := w.Write(b)
		return err
	}
}

// Values is the Data of a slice of numbers, which is not copied.
func Values[T number](values []T) Data {
	return func(w io.Writer) error {
		b := memory(values)
		if !littleEndian && len(values) > 0 {
			b = slices.Clone(b)
			swap(b, len(b)/len(values))
		}
		_, err := w.Write(b)
		return err
	}
}

// Writer collects the contents of an HDF5 file and then writes it.
type Writer struct{ root *GroupWriter }

// NewWriter makes a file that holds an empty root group.
func NewWriter() *Writer { return &Writer{root: newGroupWriter("/")} }

// Root is the group "/".
func (w *Writer) Root() *GroupWriter { return w.root }

// Size is the number of bytes that WriteTo will write.
func (w *Writer) Size() (int64, error) {
	i, err := w.layOut()
	if err != nil {
		return 0, err
	}
	return int64(i.end), nil
}

// WriteTo writes the file from start to end. It may be called more than once and writes the same bytes each time,
// provided that the Data functions do.
func (w *Writer) WriteTo(out io.Writer) (int64, error) {
	i, err := w.layOut()
	if err != nil {
		return 0, err
	}
	c := &counter{w: out}
	if _, err := c.Write(i.meta); err != nil {
		return c.n, fmt.Errorf("hdf5: writing metadata: %w", err)
	}
	for _, d := range i.data {
		if err := c.pad(int64(d.address)); err != nil {
			return c.n, err
		}
		limit := &limited{w: c, left: d.size}
		if err := d.data(limit); err != nil {
			return c.n, fmt.Errorf("hdf5: writing dataset %q: %w", d.path, err)
		}
		if limit.left > 0 {
			return c.n, fmt.Errorf("hdf5: dataset %q: its Data wrote %d bytes, expected %d", d.path, d.size-limit.left, d.size)
		}
	}
	return c.n, c.pad(int64(i.end))
}

// counter counts the bytes that are written to w.
type counter struct {
	w io.Writer
	n int64
}

func (c *counter) Write(b []byte) (int, error) {
	n, err := c.w.Write(b)
	c.n += int64(n)
	return n, err
}

// pad writes zeros up to a position.
func (c *counter) pad(to int64) error {
	var zeros [alignment]byte
	_, err := c.Write(zeros[:to-c.n])
	return err
}

// limited refuses bytes beyond the size of a dataset.
type limited struct {
	w    io.Writer
	left uint64
}

var errTooMuch = errors.New("its Data writes more than its shape and type say")

func (l *limited) Write(b []byte) (int, error) {
	if uint64(len(b)) > l.left {
		return 0, errTooMuch
	}
	n, err := l.w.Write(b)
	l.left -= uint64(n)
	return n, err
}

// member is a *GroupWriter or a *DatasetWriter.
type member interface{ isMember() }

// GroupWriter is a group of a file to be written.
type GroupWriter struct {
	attributeWriter
	path    string
	members map[string]member
}

// DatasetWriter is a dataset of a file to be written.
type DatasetWriter struct {
	attributeWriter
	path  string
	typ   Type
	shape []int
	size  uint64
	data  Data
	texts []string // instead of data, where typ is a string of variable length
}

func (*GroupWriter) isMember()   {}
func (*DatasetWriter) isMember() {}

func newGroupWriter(path string) *GroupWriter {
	g := &GroupWriter{path: path, members: map[string]member{}}
	g.owner = path
	return g
}

// Group gives the group at path (relative to g), and creates it and the groups above it if they are missing.
func (g *GroupWriter) Group(path string) (*GroupWriter, error) {
	at := g
	for name := range strings.SplitSeq(path, "/") {
		if name == "" {
			continue
		}
		if err := checkName(name); err != nil {
			return nil, fmt.Errorf("hdf5: group %q in %q: %w", path, g.path, err)
		}
		switch m := at.members[name].(type) {
		case *GroupWriter:
			at = m
		case nil:
			child := newGroupWriter(join(at.path, name))
			at.members[name] = child
			at = child
		default:
			return nil, fmt.Errorf("hdf5: group %q in %q: %q is a dataset", path, g.path, join(at.path, name))
		}
	}
	return at, nil
}

func join(path, name string) string { return strings.TrimSuffix(path, "/") + "/" + name }

func checkName(name string) error {
	switch {
	case name == "" || name == "." || strings.ContainsAny(name, "/\x00"):
		return fmt.Errorf("the name %q, expected one that is not empty or \".\" and without \"/\" and NUL", clip(name))
	case len(name) >= maxName:
		return fmt.Errorf("a name of %d bytes, expected less than %d", len(name), maxName)
	}
	return nil
}

// Dataset adds a dataset at path (relative to g), making the groups above it. shape nil or empty is a scalar. A dataset
// of Bfloat16 is stored in Keras's form: two opaque bytes an element and the attribute dtype="bfloat16".
func (g *GroupWriter) Dataset(path string, t Type, shape []int, data Data) (*DatasetWriter, error) {
	if t.Variable {
		return nil, fmt.Errorf("hdf5: dataset %q in %q: strings of variable length are added with Strings", path, g.path)
	}
	d, err := g.add(path, t, shape)
	if err != nil {
		return nil, err
	}
	d.data = data
	if t.Class == ClassBfloat16 {
		return d, d.SetAttribute("dtype", "bfloat16")
	}
	return d, nil
}

// Strings adds a dataset of strings of variable length (UTF-8) at path, as h5py writes Python strings.
func (g *GroupWriter) Strings(path string, shape []int, values []string) (*DatasetWriter, error) {
	if size, err := byteSize(shape, variableString); err == nil && size != uint64(len(values)*variableString.Size) {
		return nil, fmt.Errorf("hdf5: dataset %q in %q: %d strings for the shape %v", path, g.path, len(values), shape)
	}
	d, err := g.add(path, variableString, shape)
	if err != nil {
		return nil, err
	}
	d.texts = slices.Clone(values)
	return d, nil
}

func (g *GroupWriter) add(path string, t Type, shape []int) (*DatasetWriter, error) {
	folder, name := "", path
	if cut := strings.LastIndex(path, "/"); cut >= 0 {
		folder, name = path[:cut], path[cut+1:]
	}
	fail := func(err error) (*DatasetWriter, error) {
		return nil, fmt.Errorf("hdf5: dataset %q in %q: %w", path, g.path, err)
	}
	if err := checkName(name); err != nil {
		return fail(err)
	}
	if err := t.writable(); err != nil {
		return fail(err)
	}
	size, err := byteSize(shape, t)
	if err != nil {
		return fail(err)
	}
	parent, err := g.Group(folder)
	if err != nil {
		return nil, err
	}
	if _, taken := parent.members[name]; taken {
		return fail(errors.New("there is a member of that name already"))
	}
	d := &DatasetWriter{path: join(parent.path, name), typ: t, shape: slices.Clone(shape), size: size}
	d.owner = d.path
	parent.members[name] = d
	return d, nil
}

// byteSize is the number of bytes of an array.
func byteSize(shape []int, t Type) (uint64, error) {
	if len(shape) > maxRank {
		return 0, fmt.Errorf("a shape of %d axes, at most %d", len(shape), maxRank)
	}
	size := uint64(t.Size)
	for _, n := range shape {
		high, low := bits.Mul64(size, uint64(n))
		if n < 0 || high != 0 || low > math.MaxInt64/2 {
			return 0, fmt.Errorf("the shape %v of %s", shape, t)
		}
		size = low
	}
	return size, nil
}

// writable says why a type cannot be written.
func (t Type) writable() error {
	if t.Class == ClassString && !t.Variable && t == FixedString(t.Size) && t.Size > 0 && t.Size <= math.MaxInt32 {
		return nil
	}
	switch t {
	case Int8, Int16, Int32, Int64, Uint8, Uint16, Uint32, Uint64, Float16, Float32, Float64, Bfloat16, Bool, variableString:
		return nil
	}
	return fmt.Errorf("the type %s cannot be written", t)
}
