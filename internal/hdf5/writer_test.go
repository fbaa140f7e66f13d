package hdf5

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func write(t testing.TB, w *Writer) []byte {
	t.Helper()
	var b bytes.Buffer
	n, err := w.WriteTo(&b)
	require.NoError(t, err)
	size, err := w.Size()
	require.NoError(t, err)
	require.EqualValues(t, b.Len(), n)
	require.Equal(t, n, size)
	return b.Bytes()
}

// everything writes each thing that the writer can write.
func everything(t testing.TB) *Writer {
	w := NewWriter()
	root := w.Root()
	add := func(path string, typ Type, shape []int, data Data) *DatasetWriter {
		d, err := root.Dataset(path, typ, shape, data)
		require.NoError(t, err)
		return d
	}
	add("types/i1", Int8, []int{3}, Values([]int8{-1, 0, 127}))
	add("types/i2", Int16, []int{3}, Values([]int16{-1, 0, 32767}))
	add("types/i4", Int32, []int{3}, Values([]int32{-1, 0, math.MaxInt32}))
	add("types/i8", Int64, []int{3}, Values([]int64{-1, 0, 1 << 53}))
	add("types/u1", Uint8, []int{3}, Values([]uint8{1, 0, 255}))
	add("types/u2", Uint16, []int{3}, Values([]uint16{1, 0, 65535}))
	add("types/u4", Uint32, []int{3}, Values([]uint32{1, 0, math.MaxUint32}))
	add("types/u8", Uint64, []int{3}, Values([]uint64{1, 0, 1 << 53}))
	add("types/f2", Float16, []int{3}, Values([]uint16{0x3c00, 0xc100, 0x0001})) // 1, -2.5, 2⁻²⁴
	add("types/f4", Float32, []int{2, 3}, Values([]float32{1, 2, 3, 4, 5, -6.5}))
	add("types/f8", Float64, []int{3, 1}, Values([]float64{0.1, 2, -3}))
	add("types/bf16", Bfloat16, []int{2}, Values([]uint16{0x3f80, 0xc020})) // 1, -2.5
	add("types/bool", Bool, []int{3}, Bytes([]byte{1, 0, 1}))
	add("types/fixed", FixedString(4), []int{2}, Bytes([]byte("abcdx\x00\x00\x00")))
	add("scalar", Float32, nil, Values([]float32{2.5}))
	add("none", Float32, []int{0, 4}, Values([]float32{}))
	_, err := root.Strings("texts", []int{2, 2}, []string{"héllo", "", strings.Repeat("long ", 2000), "x"})
	require.NoError(t, err)
	_, err = root.Strings("text", nil, []string{"alone"})
	require.NoError(t, err)
	g, err := root.Group("empty")
	require.NoError(t, err)
	values := map[string]any{"text": "wörld", "texts": []string{"a", "bc", ""}, "fixed": []byte("raw"), "int": 5,
		"ints": []int{1, -2}, "f4": float32(0.5), "f8s": []float64{0.25, -1}, "u2": uint16(7), "flag": true, "flags": []bool{false, true},
		"nothing": "", "i1s": []int8{-3}}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		require.NoError(t, g.SetAttribute(name, values[name]))
	}
	d := add("with_attributes", Int32, []int{1}, Values([]int32{1}))
	require.NoError(t, d.SetAttribute("name", "first"))
	require.NoError(t, d.SetAttribute("name", "second"))
	require.NoError(t, root.SetStringList("layer_names", []string{"dense", "dense_1"}))
	require.NoError(t, root.SetStringList("no_names", nil))
	var names []string
	for i := range 2001 {
		names = append(names, fmt.Sprintf("a_rather_long_name_of_a_weight_%04d/kernel:0", i))
	}
	require.NoError(t, root.SetStringList("weight_names", names))
	require.NoError(t, root.SetAttribute("model_config", strings.Repeat("x", 70000)))
	return w
}

func TestRoundTrip(t *testing.T) {
	f := openBytes(t, write(t, everything(t)))
	r := f.Root()
	for path, want := range map[string][]float64{
		"types/i1": {-1, 0, 127}, "types/i2": {-1, 0, 32767}, "types/i4": {-1, 0, math.MaxInt32},
		"types/i8": {-1, 0, 1 << 53}, "types/u1": {1, 0, 255}, "types/u2": {1, 0, 65535}, "types/u4": {1, 0, math.MaxUint32},
		"types/u8": {1, 0, 1 << 53}, "types/f2": {1, -2.5, 1.0 / (1 << 24)}, "types/f4": {1, 2, 3, 4, 5, -6.5}, "types/f8": {0.1, 2, -3},
		"types/bf16": {1, -2.5}, "types/bool": {1, 0, 1}, "scalar": {2.5}, "none": {}} {
		d, err := r.Dataset(path)
		require.NoError(t, err, path)
		got, err := d.Float64s()
		require.NoError(t, err, path)
		require.Equal(t, want, got, path)
		narrow, err := d.Float32s()
		require.NoError(t, err)
		for i, v := range want {
			require.Equal(t, float32(v), narrow[i], path)
		}
		raw := make([]byte, d.Size())
		require.NoError(t, d.ReadInto(raw))
		ints, err := d.Int64s()
		if c := d.Type().Class; c == ClassFloat || c == ClassBfloat16 {
			require.ErrorIs(t, err, ErrUnsupported)
			continue
		}
		require.NoError(t, err)
		for i, v := range want {
			require.EqualValues(t, v, ints[i], path)
		}
	}
	d, err := r.Dataset("texts")
	require.NoError(t, err)
	texts, err := d.Strings()
	require.NoError(t, err)
	require.Equal(t, []string{"héllo", "", strings.Repeat("long ", 2000), "x"}, texts)
	d, err = r.Dataset("/types/fixed")
	require.NoError(t, err)
	texts, err = d.Strings()
	require.NoError(t, err)
	require.Equal(t, []string{"abcd", "x"}, texts)
	require.Equal(t, FixedString(4), d.Type())

	names, err := StringList(r, "weight_names")
	require.NoError(t, err)
	require.Len(t, names, 2001)
	require.Equal(t, "a_rather_long_name_of_a_weight_2000/kernel:0", names[2000])
	first, err := r.Attribute("weight_names0")
	require.NoError(t, err)
	require.Equal(t, []int{1001}, first.Shape()) // as NumPy's array_split
	names, err = StringList(r, "no_names")
	require.NoError(t, err)
	require.Empty(t, names)
	_, err = StringList(r, "absent")
	require.ErrorIs(t, err, ErrNotFound)

	a, err := r.Attribute("model_config")
	require.NoError(t, err)
	text, err := a.Text()
	require.NoError(t, err)
	require.Len(t, text, 70000)
	o, err := r.Lookup("with_attributes")
	require.NoError(t, err)
	a, err = o.Attribute("name")
	require.NoError(t, err)
	text, err = a.Text()
	require.NoError(t, err)
	require.Equal(t, "second", text)
	g, err := r.Group("empty")
	require.NoError(t, err)
	a, err = g.Attribute("ints")
	require.NoError(t, err)
	ints, err := a.Int64s()
	require.NoError(t, err)
	require.Equal(t, []int64{1, -2}, ints)
}

func TestDeterministic(t *testing.T) {
	require.True(t, bytes.Equal(write(t, everything(t)), write(t, everything(t))))
}

// Groups with more members than fit into a symbol node, a B-tree node, two levels of them.
func TestManyMembers(t *testing.T) {
	for _, n := range []int{0, 1, 8, 9, 256, 257, 9000} {
		w := NewWriter()
		for i := range n {
			_, err := w.Root().Group(fmt.Sprint(i))
			require.NoError(t, err)
		}
		f := openBytes(t, write(t, w))
		names, err := f.Root().Names()
		require.NoError(t, err)
		require.Len(t, names, n)
		for i := range n {
			require.True(t, f.Root().Has(fmt.Sprint(i)))
		}
		require.False(t, f.Root().Has(fmt.Sprint(n)))
		checkKeys(t, f.Root())
	}
}

// checkKeys checks what other readers search by: the key before a symbol node is the last name of the node before it.
func checkKeys(t *testing.T, g *Group) {
	c, err := g.header.find(g.f, messageSymbolTable, "symbol table")
	require.NoError(t, err)
	tree, heap := c.address(), c.address()
	names, err := g.f.readLocalHeap(heap, g.f.newMeter("heap"))
	require.NoError(t, err)
	last := ""
	walk := tree1{f: g.f, kind: treeOfGroup, keySize: 8, meter: g.f.newMeter("tree")}
	walk.visit = func(key *cursor, child uint64) error {
		before, err := heapString(names, key.length())
		require.NoError(t, err)
		require.Equal(t, last, before)
		l := links{byName: map[string]link{}, meter: g.f.newMeter("node")}
		require.NoError(t, g.f.readSymbolNode(child, names, &l))
		for name := range l.byName {
			require.Greater(t, name, before)
			last = max(last, name)
		}
		return nil
	}
	require.NoError(t, walk.walk(tree))
}

// Nodes of a level of a B-tree know their neighbours.
func TestSiblings(t *testing.T) {
	w := NewWriter()
	for i := range 3000 {
		_, err := w.Root().Group(fmt.Sprint(i))
		require.NoError(t, err)
	}
	b := write(t, w)
	field := func(node, at int) uint64 { return binary.LittleEndian.Uint64(b[node+at:]) }
	const level, left, right = 5, 8, 16
	pairs := 0
	for node := range b {
		if !bytes.HasPrefix(b[node:], []byte("TREE")) || field(node, right) == undefined {
			continue
		}
		next := int(field(node, right))
		require.Equal(t, "TREE", string(b[next:next+4]))
		require.Equal(t, b[node+level], b[next+level])
		require.EqualValues(t, node, field(next, left))
		pairs++
	}
	require.Equal(t, 11, pairs) // of 12 nodes over 375 symbol nodes
}

// Collections of the global heap are filled to their end by their objects, the last of which is the free space.
func TestHeapIsComplete(t *testing.T) {
	b := write(t, everything(t))
	collections := 0
	for place := 0; ; collections++ {
		next := bytes.Index(b[place:], []byte("GCOL"))
		if next < 0 {
			break
		}
		place += next
		end := place + int(binary.LittleEndian.Uint64(b[place+8:]))
		at := place + heapHead
		for at < end {
			index, size := binary.LittleEndian.Uint16(b[at:]), int(binary.LittleEndian.Uint64(b[at+8:]))
			if index == 0 {
				require.Equal(t, end, at+size)
				break
			}
			at += heapHead + (size+7)/8*8
		}
		place = end
	}
	require.Equal(t, 4, collections) // texts before, two long ones, and what follows each
}

func TestWriterErrors(t *testing.T) {
	r := NewWriter().Root()
	two := Values([]float32{1, 2})
	_, err := r.Dataset("a/x", Float32, []int{2}, two)
	require.NoError(t, err)
	for _, c := range []struct {
		path  string
		typ   Type
		shape []int
		says  string
	}{
		{"a/x", Float32, []int{2}, "already"},
		{"a", Float32, []int{2}, "already"},
		{"a/x/y", Float32, []int{2}, "is a dataset"},
		{"", Float32, []int{2}, "name"},
		{".", Float32, []int{2}, "name"},
		{"b\x00", Float32, []int{2}, "name"},
		{"b", Float32, []int{-2}, "shape [-2]"},
		{"b", Float32, []int{math.MaxInt, 4}, "shape"},
		{"b", Float32, make([]int, 33), "33 axes"},
		{"b", Type{Class: ClassFloat, Size: 4, BigEndian: true}, []int{2}, "big-endian cannot be written"},
		{"b", Type{Class: ClassCompound, Size: 4}, []int{2}, "compound[4] cannot be written"},
		{"b", FixedString(0), []int{2}, "cannot be written"},
		{strings.Repeat("n", 70000), Float32, []int{2}, "70000 bytes"},
	} {
		_, err := r.Dataset(c.path, c.typ, c.shape, two)
		require.ErrorContains(t, err, c.says)
	}
	_, err = r.Strings("s", []int{3}, []string{"a"})
	require.ErrorContains(t, err, "1 strings for the shape [3]")
	require.ErrorContains(t, r.SetAttribute("a", struct{}{}), "struct {}")
	require.ErrorContains(t, r.SetAttribute("a", make([]float64, 9000)), "at most 65528")
	require.ErrorContains(t, r.SetAttribute("a", make([]string, 9000)), "at most 65528")
	require.ErrorContains(t, r.SetAttribute("", 1), "name")
	require.ErrorContains(t, r.SetStringList("a", []string{strings.Repeat("x", 64513)}), "64513")

	broken := errors.New("broken")
	for says, data := range map[string]Data{
		"wrote 4 bytes, expected 8": Values([]float32{1}),
		"more than its shape":       Values([]float32{1, 2, 3}),
		"broken":                    func(io.Writer) error { return broken },
	} {
		w := NewWriter()
		_, err := w.Root().Dataset("x", Float32, []int{2}, data)
		require.NoError(t, err)
		_, err = w.WriteTo(io.Discard)
		require.ErrorContains(t, err, says)
		require.ErrorContains(t, err, `"/x"`)
	}
}
