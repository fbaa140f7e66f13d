package data

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/gokeras/gokeras/internal/atomicfile"
	"github.com/gokeras/gokeras/kernels/ir"
)

const npyMagic = "\x93NUMPY"

// maxNPYHeader bounds the size of the header, which is short for all arrays that can be read here.
const maxNPYHeader = 1 << 16

// npyTypes maps NumPy's type codes, without byte order, to element types. float16 ("f2") is widened to float32.
var npyTypes = map[string]ir.DType{
	"b1": ir.Bool,
	"i1": ir.Int8, "i2": ir.Int16, "i4": ir.Int32, "i8": ir.Int64,
	"u1": ir.Uint8, "u2": ir.Uint16, "u4": ir.Uint32, "u8": ir.Uint64,
	"f4": ir.Float32, "f8": ir.Float64,
}

// ReadNPY reads one array in NumPy's .npy format, versions 1.0 to 3.0, in either byte order, in C or Fortran order. The
// result is row-major. float16 becomes float32, since Go has no float16; complex numbers become a new last axis of real
// and imaginary part. Objects and records are errors, and so are empty arrays of strings; other empty arrays have an
// axis of length 0.
//
// Source of the format: NumPy, module numpy.lib.format.
func ReadNPY(r io.Reader) (Array, error) {
	d, err := readNPY(r, unknownSize)
	if err != nil {
		return Array{}, fmt.Errorf("data: ReadNPY: %w", err)
	}
	return d, nil
}

// LoadNPY reads a .npy file; see ReadNPY.
func LoadNPY(path string) (Array, error) {
	d, err := loadNPY(path)
	if err != nil {
		return Array{}, fmt.Errorf("data: LoadNPY: %w", atomicfile.Named(path, err))
	}
	return d, nil
}

func loadNPY(path string) (Array, error) {
	return readFile(path, func(r *bufio.Reader, size int) (Array, error) {
		d, err := readNPY(r, size)
		if err != nil {
			return Array{}, err
		}
		return d, expectEnd(r)
	})
}

// readFile passes a file to the reader of a format, with the file's size, capped at the largest amount of memory that
// is allocated at once.
func readFile(path string, read func(r *bufio.Reader, size int) (Array, error)) (Array, error) {
	f, err := os.Open(path)
	if err != nil {
		return Array{}, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return Array{}, err
	}
	return read(bufio.NewReaderSize(f, 1<<16), int(min(info.Size(), maxBytes/16)))
}

// npyHeader is the dictionary at the beginning of a .npy file.
type npyHeader struct {
	dtype   ir.DType
	half    bool // the values are float16
	complex bool // the values are pairs of dtype
	swap    bool // the byte order is not this machine's
	fortran bool
	shape   []int
	item    int  // bytes of a stored value
	text    byte // 'S' for strings of bytes, 'U' for strings of Unicode characters, 0 for numbers
}

func readNPY(r io.Reader, hint int) (Array, error) {
	if r == nil {
		return Array{}, errNoReader
	}
	h, n, err := beginNPY(r)
	switch {
	case err != nil:
		return Array{}, err
	case n == 0 && h.complex:
		return newArray(h.dtype, append(slices.Clone(h.shape), 2)...), nil
	case n == 0:
		return newArray(h.dtype, h.shape...), nil
	}
	raw, err := readPayload(r, n*h.item, hint)
	if err != nil {
		return Array{}, err
	}
	return h.decode(raw), nil
}

// beginNPY reads everything before the values, and returns their number.
func beginNPY(r io.Reader) (h npyHeader, n int, err error) {
	text, err := readNPYHeader(r)
	if err != nil {
		return h, 0, err
	}
	if h, err = parseNPYHeader(text); err != nil {
		return h, 0, fmt.Errorf("header %q: %w", abbreviate(text), err)
	}
	n, ok := volume(h.shape, 2*max(h.item, 4)) // twice: widening and reordering make a copy
	switch {
	case !ok:
		return h, 0, fmt.Errorf("shape %v is too large for memory", h.shape)
	case n == 0 && h.text != 0:
		return h, 0, fmt.Errorf("shape %v holds no values, which arrays of text must", h.shape)
	}
	return h, n, nil
}

func readNPYHeader(r io.Reader) (string, error) {
	var head [8]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return "", fmt.Errorf("header: %w", noEOF(err))
	}
	if string(head[:6]) != npyMagic {
		return "", fmt.Errorf("starts with % x; expected %q: not a .npy file", head[:6], npyMagic)
	}
	lengthSize := 2
	switch head[6] {
	case 1:
	case 2, 3:
		lengthSize = 4
	default:
		return "", fmt.Errorf("format version %d.%d; expected 1.0, 2.0 or 3.0", head[6], head[7])
	}
	var length [4]byte
	if _, err := io.ReadFull(r, length[:lengthSize]); err != nil {
		return "", fmt.Errorf("header: %w", noEOF(err))
	}
	n := binary.LittleEndian.Uint32(length[:])
	if n > maxNPYHeader {
		return "", fmt.Errorf("header of %d bytes; expected at most %d", n, maxNPYHeader)
	}
	text := make([]byte, n)
	if _, err := io.ReadFull(r, text); err != nil {
		return "", fmt.Errorf("header: %w", noEOF(err))
	}
	return string(text), nil
}

// decode turns the stored bytes into an array; it may use their memory.
func (h *npyHeader) decode(raw []byte) Array {
	if h.text != 0 {
		return h.decodeText(raw)
	}
	if h.swap {
		word := h.item
		if h.complex {
			word /= 2 // real and imaginary part are swapped each by itself
		}
		swapBytes(raw, word)
	}
	if h.half {
		wide := alignedBytes(2 * len(raw))
		out := viewAs[float32](wide)
		for i, bits := range viewAs[uint16](raw) {
			out[i] = halfToFloat32(bits)
		}
		raw = wide
	}
	a := fromNative(h.dtype, raw, h.shape...)
	if h.complex {
		a.Type.Shape = append(a.Type.Shape, 2)
	}
	if !h.fortran || len(h.shape) < 2 {
		return a
	}
	strides, step := make([]int, len(h.shape)), 1
	for i, d := range h.shape {
		strides[i], step = step, step*d
	}
	if h.complex {
		for i := range strides {
			strides[i] *= 2
		}
		strides = append(strides, 1)
	}
	return packStrided(h.dtype, a.Data, a.Shape(), strides)
}

// halfToFloat32 widens an IEEE 754 binary16 number, exactly.
func halfToFloat32(h uint16) float32 {
	sign := uint32(h&0x8000) << 16
	exponent, fraction := uint32(h>>10&0x1f), uint32(h&0x3ff)
	switch exponent {
	case 0: // zero and subnormals: fraction * 2^-24
		return math.Float32frombits(sign | math.Float32bits(float32(fraction)*0x1p-24))
	case 0x1f: // infinity and NaN
		return math.Float32frombits(sign | 0x7f800000 | fraction<<13)
	default:
		return math.Float32frombits(sign | (exponent+127-15)<<23 | fraction<<13)
	}
}

// WriteNPY writes an array in NumPy's .npy format, version 1.0, in C order, little-endian.
func WriteNPY(w io.Writer, d Array) error {
	if w == nil {
		return fmt.Errorf("data: WriteNPY: the writer is nil")
	}
	if err := writeNPY(w, d); err != nil {
		return fmt.Errorf("data: WriteNPY: %w", err)
	}
	return nil
}

// SaveNPY writes a .npy file. It replaces an existing file only after everything was written.
func SaveNPY(path string, d Array) error {
	if err := atomicfile.Write(path, func(w io.Writer) error { return writeNPY(w, d) }); err != nil {
		return fmt.Errorf("data: SaveNPY: %w", atomicfile.Named(path, err))
	}
	return nil
}

func writeNPY(w io.Writer, d Array) error {
	if err := d.Check(); err != nil {
		return err
	}
	code, err := npyCode(d.DType())
	if err != nil {
		return err
	}
	dims := make([]string, d.Rank())
	for i, n := range d.Shape() {
		dims[i] = strconv.Itoa(n)
	}
	if len(dims) == 1 {
		dims = append(dims, "") // (3,) and not (3)
	}
	shape := strings.TrimSuffix(strings.Join(dims, ", "), " ")
	text := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': (%s), }", code, shape)
	// The header ends with a newline and is padded so that the values begin at a multiple of 64.
	padding := 63 - (len(npyMagic)+4+len(text))%64
	text += strings.Repeat(" ", padding) + "\n"
	head := append([]byte(npyMagic), 1, 0)
	head = binary.LittleEndian.AppendUint16(head, uint16(len(text)))
	if _, err := w.Write(append(head, text...)); err != nil {
		return err
	}
	_, err = w.Write(d.Data)
	return err
}

// npyCode returns NumPy's name of an element type, in the byte order of arrays.
func npyCode(dt ir.DType) (string, error) {
	order := "<"
	if dt.Size() == 1 {
		order = "|"
	}
	if dt == ir.Float16 {
		return "<f2", nil
	}
	for code, candidate := range npyTypes {
		if candidate == dt {
			return order + code, nil
		}
	}
	return "", fmt.Errorf("elements of type %v have no place in a .npy file; Convert them to float32", dt)
}

// abbreviate shortens a text for an error message.
func abbreviate(s string) string {
	s = strings.TrimSpace(s)
	if len(s) > 80 {
		return s[:80] + "..."
	}
	return s
}

// setDescr reads a descr such as "<f4".
func (h *npyHeader) setDescr(descr string) error {
	if len(descr) < 2 {
		return fmt.Errorf("element type %q is unknown", descr)
	}
	order, code := descr[0], descr[1:]
	if !strings.ContainsRune("<>|=", rune(order)) {
		order, code = '=', descr
	}
	h.swap = order == '<' && !nativeIsLittle || order == '>' && nativeIsLittle
	if h.half = code == "f2"; h.half {
		h.dtype, h.item = ir.Float32, 2
		return nil
	}
	if is, err := h.setText(code); is {
		return err
	}
	if h.complex = code == "c8" || code == "c16"; h.complex {
		h.dtype, h.item = ir.Float32, 8
		if code == "c16" {
			h.dtype, h.item = ir.Float64, 16
		}
		return nil
	}
	dt, ok := npyTypes[code]
	if !ok {
		codes := []string{"c16", "c8", "f2"}
		for c := range npyTypes {
			codes = append(codes, c)
		}
		slices.Sort(codes)
		return fmt.Errorf("element type %q cannot be read (objects are Python pickles, records are no numbers); expected one of %s",
			descr, strings.Join(codes, ", "))
	}
	h.dtype, h.item = dt, dt.Size()
	return nil
}
