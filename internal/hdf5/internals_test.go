package hdf5

import (
	"bytes"
	"encoding/binary"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Checksums with known values: Bob Jenkins's own ("Four score and seven years ago" with initial value 0) and the
// examples of Fletcher's checksum, whose words are big-endian here.
func TestChecksumsKnown(t *testing.T) {
	require.Equal(t, uint32(0xdeadbeef), lookup3(nil))
	require.Equal(t, uint32(0x17770551), lookup3([]byte("Four score and seven years ago")))
	require.Equal(t, uint32(0x0002_0001), fletcher32([]byte{0, 1, 0, 0}))
	require.Equal(t, uint32(0x0004_0003), fletcher32([]byte{0, 1, 0, 2}))
}

// Layouts of versions 1 and 2, which only very old files have.
func TestOldLayouts(t *testing.T) {
	f := &File{size: 1000, offsetSize: 8, lengthSize: 8}
	message := func(class, n byte, rest ...any) *cursor {
		b := bytes.NewBuffer([]byte{1, n, class, 0, 0, 0, 0, 0})
		for _, v := range rest {
			require.NoError(t, binary.Write(b, binary.LittleEndian, v))
		}
		return f.cursor(b.Bytes(), "data layout")
	}
	l, err := parseLayout(message(layoutContiguous, 2, uint64(77), uint32(5), uint32(6)), 2, 4)
	require.NoError(t, err)
	require.Equal(t, uint64(77), l.address)
	require.Equal(t, uint64(math.MaxUint64), l.size)
	l, err = parseLayout(message(layoutChunked, 3, uint64(77), uint32(5), uint32(6), uint32(4)), 2, 4)
	require.NoError(t, err)
	require.Equal(t, []uint64{5, 6}, l.chunk)
	require.EqualValues(t, 120, l.chunkBytes)
	require.EqualValues(t, indexTree1, l.index)
	l, err = parseLayout(message(layoutCompact, 1, uint32(2), uint32(4), []byte("data")), 1, 2)
	require.NoError(t, err)
	require.Equal(t, "data", string(l.data))
	_, err = parseLayout(message(layoutChunked, 2, uint64(77), uint32(5), uint32(4)), 2, 4)
	require.ErrorContains(t, err, "chunks with 1 axes in a dataset with 2")
	_, err = parseLayout(message(layoutChunked, 3, uint64(77), uint32(5), uint32(0), uint32(4)), 2, 4)
	require.ErrorContains(t, err, "axis 1 of a chunk is 0")
	_, err = parseLayout(message(layoutChunked, 3, uint64(77), uint32(5), uint32(6), uint32(8)), 2, 4)
	require.ErrorContains(t, err, "elements of 8 bytes")
	_, err = parseLayout(message(9, 3, uint64(77)), 2, 4)
	require.ErrorContains(t, err, "class 9")
}

// Every class of data type: what is not interpreted is named, and nested ones do not exhaust the stack.
func TestDatatypes(t *testing.T) {
	f := &File{size: 1000, offsetSize: 8, lengthSize: 8}
	parse := func(b string) (Type, error) { return parseDatatype(f.cursor([]byte(b), "data type"), 0) }
	number := "\x10\x08\x00\x00\x04\x00\x00\x00\x00\x00\x20\x00"
	for b, want := range map[string]string{
		number: "int32",
		"\x14\x00\x00\x00\x01\x00\x00\x00\x00\x00\x08\x00":                                 "bitfield8",
		"\x12\x00\x00\x00\x04\x00\x00\x00\x20\x00":                                         "time",
		"\x17\x00\x00\x00\x08\x00\x00\x00":                                                 "reference",
		"\x15\x03\x00\x00\x08\x00\x00\x00abc\x00\x00\x00\x00\x00":                          "opaque[8]",
		"\x36\x01\x00\x00\x04\x00\x00\x00a\x00\x00" + number:                               "compound[4]",
		"\x3a\x00\x00\x00\x08\x00\x00\x00\x01\x02\x00\x00\x00" + number:                    "array of int32",
		"\x19\x00\x00\x00\x10\x00\x00\x00" + number:                                        "sequence of int32",
		"\x11\x20\x0f\x00\x02\x00\x00\x00\x00\x00\x10\x00\x07\x08\x00\x07\x7f\x00\x00\x00": "bfloat16",
	} {
		typ, err := parse(b)
		require.NoError(t, err, want)
		require.Equal(t, want, typ.String())
	}
	typ, err := parse("\x10\x08\x00\x00\x04\x00\x00\x00\x00\x00\x18\x00") // 24 bits in 4 bytes
	require.NoError(t, err)
	require.Contains(t, typ.numeric(true), "bits do not fill")
	typ, err = parse("\x11\x20\x4f\x00\x10\x00\x00\x00\x00\x00\x50\x00\x40\x0f\x00\x40\xff\x3f\x00\x00") // x86's long double
	require.NoError(t, err)
	require.Contains(t, typ.numeric(false), "none of binary16")
	for b, says := range map[string]string{
		strings.Repeat("\x3a\x00\x00\x00\x08\x00\x00\x00\x00", 1000): "nested",
		"\x1f\x00\x00\x00\x08\x00\x00\x00":                           "class 15",
		"\xf0\x00\x00\x00\x08\x00\x00\x00":                           "version 15",
		"\x10\x00\x00\x00\x00\x00\x00\x00":                           "0 bytes",
		"\x10\x00\x00\x00\xff\xff\xff\xff":                           "4294967295 bytes",
		"\x36\xff\xff\x00\x04\x00\x00\x00":                           "without end",
		"\x19\x01\x00\x00\x08\x00\x00\x00" + number:                  "references of 8 bytes",
		"\x38\x02\x00\x00\x02\x00\x00\x00" + number:                  "an enumeration of 2 bytes",
		number[:9]: "ends after",
	} {
		_, err := parse(b)
		require.ErrorContains(t, err, says)
	}
}

// halfToFloat on every kind of binary16, against the definition.
func TestHalf(t *testing.T) {
	for h := range 1 << 16 {
		sign, exponent, fraction := 1-2*float64(h>>15), h>>10&31, float64(h&1023)
		got := float64(halfToFloat(uint16(h)))
		switch {
		case exponent == 31 && fraction != 0:
			require.True(t, math.IsNaN(got))
		case exponent == 31:
			require.True(t, math.IsInf(got, int(sign)))
		case exponent == 0:
			require.Equal(t, math.Copysign(fraction*math.Pow(2, -24), sign), got)
		default:
			require.Equal(t, sign*(1+fraction/1024)*math.Pow(2, float64(exponent-15)), got)
		}
	}
}

// The flag of new layouts by which chunks over the edge are not filtered, on a file in which each of them says so
// itself.
func TestRawEdges(t *testing.T) {
	for _, name := range []string{"chunked_earliest.h5", "chunked_latest.h5"} {
		d, err := openTestdata(t, name).Root().Dataset("masked")
		require.NoError(t, err)
		want, err := d.Int64s()
		require.NoError(t, err)
		for _, c := range []struct {
			place []uint64
			over  bool
		}{{[]uint64{0, 0}, false}, {[]uint64{0, 1}, false}, {[]uint64{1, 0}, true}, {[]uint64{1, 1}, true}} {
			require.Equal(t, c.over, d.overEdge(c.place))
		}
		d.layout.rawEdges = true
		got, err := d.Int64s()
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
}

// All Go types that an attribute can be made of.
func TestAttributeTypes(t *testing.T) {
	w := NewWriter()
	all := map[string]any{"i": 3, "i8": int8(3), "i16": int16(3), "i32": int32(3), "i64": int64(3), "u8": uint8(3), "u16": uint16(3),
		"u32": uint32(3), "u64": uint64(3), "f32": float32(3), "f64": 3.0, "is": []int{3}, "i8s": []int8{3}, "i16s": []int16{3},
		"i32s": []int32{3}, "i64s": []int64{3}, "u16s": []uint16{3}, "u32s": []uint32{3}, "u64s": []uint64{3}, "f32s": []float32{3},
		"f64s": []float64{3}}
	for name, v := range all {
		require.NoError(t, w.Root().SetAttribute(name, v))
	}
	require.NoError(t, w.Root().SetAttribute("large", uint64(math.MaxUint64)))
	require.NoError(t, w.Root().SetAttribute("bytes", []byte{}))
	root := openBytes(t, write(t, w)).Root()
	for name := range all {
		a, err := root.Attribute(name)
		require.NoError(t, err)
		require.Equal(t, strings.HasSuffix(name, "s"), len(a.Shape()) == 1)
		values, err := a.Float64s()
		require.NoError(t, err)
		require.Equal(t, []float64{3}, values, name)
	}
	a, err := root.Attribute("large")
	require.NoError(t, err)
	_, err = a.Int64s()
	require.ErrorContains(t, err, "more than an int64 holds")
	a, err = root.Attribute("bytes")
	require.NoError(t, err)
	text, err := a.Text()
	require.NoError(t, err)
	require.Empty(t, text)
	require.Equal(t, "Class(99)", Class(99).String())
}

func TestDataspaces(t *testing.T) {
	f := &File{size: 1000, offsetSize: 8, lengthSize: 4}
	parse := func(b string) (dataspace, error) { return parseDataspace(f.cursor([]byte(b), "data space")) }
	s, err := parse("\x01\x02\x01\x00\x00\x00\x00\x00" + "\x03\x00\x00\x00\x04\x00\x00\x00" + "\x03\x00\x00\x00\xff\xff\xff\xff")
	require.NoError(t, err)
	require.Equal(t, []int{3, 4}, s.shape)
	require.Equal(t, []uint64{3, math.MaxUint64}, s.largest)
	for b, says := range map[string]string{
		"\x02\x01\x01\x01" + "\x03\x00\x00\x00" + "\x02\x00\x00\x00": "exceeds its maximum",
		"\x02\x21\x00\x01":                 "33 axes",
		"\x02\x01\x00\x05\x01\x00\x00\x00": "kind 5",
		"\x03\x00\x00\x00":                 "version 3",
		"\x02\x01\x00\x01\x01\x00\x00":     "ends after",
	} {
		_, err := parse(b)
		require.ErrorContains(t, err, says)
	}
}
