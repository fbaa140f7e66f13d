package hdf5

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// readEverything opens a file and reads all that it holds, but no dataset of more than most bytes or with such chunks.
func readEverything(b []byte, ignoreChecksums bool, most int64) error {
	f, err := open(bytes.NewReader(b), int64(len(b)), ignoreChecksums)
	if err != nil {
		return err
	}
	if err := readAttributes(f.Root()); err != nil {
		return err
	}
	return f.Root().Walk(func(_ string, o Object) error {
		if err := readAttributes(o); err != nil {
			return err
		}
		d, ok := o.(*Dataset)
		if !ok || d.Size() > most || d.layout.chunkBytes > uint64(most) {
			return nil
		}
		if d.Type().Class == ClassString {
			_, err := d.Strings()
			return err
		}
		if d.Type().numeric(false) == "" {
			_, err := d.Float64s()
			return err
		}
		return d.ReadInto(make([]byte, d.Size()))
	})
}

func readAttributes(o Object) error {
	list, err := o.Attributes()
	if err != nil {
		return err
	}
	for _, a := range list {
		if a.Type().Class == ClassString {
			_, err = a.Strings()
		} else if a.Type().numeric(false) == "" {
			_, err = a.Float64s()
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// allocated gives the bytes that f allocates in all.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// refused checks that a file is refused with a message, and with little memory.
func refused(t *testing.T, b []byte, says string) {
	t.Helper()
	var err error
	used := allocated(func() { err = readEverything(b, false, math.MaxInt64) })
	require.ErrorContains(t, err, says)
	require.LessOrEqual(t, used, uint64(1<<20+20*len(b)), "bytes allocated")
}

// little is a small file with a number in each place that a test wants to find: shape, data and text.
func little(t *testing.T) []byte {
	w := NewWriter()
	d, err := w.Root().Dataset("folder/x", Float32, []int{54321}, Values(make([]float32, 54321)))
	require.NoError(t, err)
	require.NoError(t, d.SetAttribute("text", "some text"))
	return write(t, w)[:] // with a copy of its own
}

// replace puts a number in the place of another one of 8 bytes, all of which must be there times times.
func replace(t *testing.T, b []byte, old, now uint64, times int) []byte {
	t.Helper()
	from, to := binary.LittleEndian.AppendUint64(nil, old), binary.LittleEndian.AppendUint64(nil, now)
	require.Equal(t, times, bytes.Count(b, from))
	return bytes.ReplaceAll(b, from, to)
}

// at gives the place of the n-th occurrence of a signature.
func at(t *testing.T, b []byte, sign string, n int) int {
	t.Helper()
	place := -1
	for range n + 1 {
		next := bytes.Index(b[place+1:], []byte(sign))
		require.GreaterOrEqual(t, next, 0, sign)
		place += next + 1
	}
	return place
}

func set(b []byte, at int, v uint64) []byte {
	b = bytes.Clone(b)
	binary.LittleEndian.PutUint64(b[at:], v)
	return b
}

func TestSuperblockRefused(t *testing.T) {
	b := little(t)
	change := func(at int, v byte) []byte {
		b := bytes.Clone(b)
		b[at] = v
		return b
	}
	_, err := Open(bytes.NewReader(nil), 0)
	require.ErrorIs(t, err, ErrNotHDF5)
	_, err = Open(bytes.NewReader(nil), -1)
	require.ErrorContains(t, err, "size -1")
	_, err = Open(bytes.NewReader(b), int64(len(b))+10)
	require.NoError(t, err) // what follows the end is none of our business
	refused(t, change(0, 0), "no HDF5 signature")
	refused(t, change(8, 9), "superblock of version 9")
	refused(t, change(13, 3), "addresses and lengths of 3 and 8 bytes")
	refused(t, change(14, 0), "addresses and lengths of 8 and 0 bytes")
	refused(t, set(b, 24, 1000), "base address 1000")
	refused(t, set(b, 40, 1<<40), "truncated")
	refused(t, set(b, 64, 1<<40), "object header")
	refused(t, set(b, 64, undefined), "object header")
}

func TestTruncatedRefused(t *testing.T) {
	b := little(t)
	for n := range len(b) {
		if n > 4000 && n%997 != 0 {
			continue
		}
		require.Error(t, readEverything(b[:n], false, math.MaxInt64), "%d bytes", n)
		// The superblock is made to say that this is all.
		if n > 96 {
			require.Error(t, readEverything(set(b[:n], 40, uint64(n)), false, math.MaxInt64), "%d bytes", n)
		}
	}
	for _, name := range []string{"types_latest.h5", "chunked_latest.h5"} {
		b := unpack(t, name)
		for n := 0; n < len(b); n += 1 + len(b)/200 {
			require.Error(t, readEverything(b[:n], true, math.MaxInt64), "%s, %d bytes", name, n)
		}
	}
}

func TestAbsurdShapesRefused(t *testing.T) {
	b := little(t)
	refused(t, replace(t, b, 54321, 1<<60, 2), "corrupt")               // shape and maximum
	refused(t, replace(t, b, 54321, 1<<40, 2), "shape [1099511627776]") // 4 TB
	refused(t, replace(t, b, 54321, 1<<63, 2), "more elements than can be counted")
	refused(t, replace(t, b, 4*54321, 7, 1), "7 bytes of data")     // of the layout
	refused(t, replace(t, b, 54321, 54322, 2), "the shape [54322]") // more than the layout says
	// Data beyond the end is found when the dataset is opened, before anybody allocates Size().
	f := openBytes(t, b)
	d, err := f.Root().Dataset("folder/x")
	require.NoError(t, err)
	f = openBytes(t, replace(t, b, d.layout.address, d.layout.address+8, 1))
	_, err = f.Root().Dataset("folder/x")
	require.ErrorContains(t, err, "data: 217284 bytes at address")
	chunked := unpack(t, "chunked_earliest.h5")
	refused(t, replace(t, chunked, 3000, 1<<50, 3), "a dataset of shape [1125899906842624]")
}

func TestCyclesRefused(t *testing.T) {
	b := little(t)
	tree := at(t, b, "TREE", 0)
	node := at(t, b, "SNOD", 0)
	// A node of level 1 that is its own child, and one that has a leaf's level.
	cyclic := set(b, tree+32, uint64(tree))
	refused(t, cyclic, "expected the signature \"SNOD\"")
	cyclic[tree+5] = 1
	refused(t, cyclic, "a node of level 1, expected 0")
	// The same symbol node twice.
	twice := set(set(b, tree+48, uint64(node)), tree+56, 8)
	twice[tree+6] = 2
	refused(t, twice, "visited twice (a cycle)")
	// A group that is its own member.
	root := binary.LittleEndian.Uint64(b[64:])
	rootNode := at(t, b, "SNOD", 1)
	refused(t, set(b, rootNode+16, root), "contains itself")
	refused(t, unpack(t, "cyclic.h5"), "contains itself")
	f := openTestdata(t, "cyclic.h5")
	require.True(t, f.Root().Has("a/b/again/b/again/b")) // each step is legal
	// A header that continues in itself.
	header := int(binary.LittleEndian.Uint64(b[rootNode+16:]))
	loop := set(set(b, header+24, uint64(header+16)), header+32, 24)
	loop[header+16] = messageContinuation
	refused(t, loop, "object header: the block")
}

func TestBrokenGroupsRefused(t *testing.T) {
	b := little(t)
	heap := at(t, b, "HEAP", 0)
	node := at(t, b, "SNOD", 0)
	refused(t, set(b, heap+8, 1<<50), "add up to more than")
	refused(t, set(b, node+8, 4000), "a name at offset 4000")
	refused(t, set(b, node+8, 0), `a member named ""`)
	name := bytes.Clone(b)
	name[heap+32+8] = '/'
	refused(t, name, `a member named "/"`)
	double := bytes.Clone(b)
	double[node+6] = 2
	copy(double[node+8+symbolEntry:], double[node+8:node+8+symbolEntry])
	refused(t, double, `two members named "x"`)

	w := NewWriter()
	_, err := w.Root().Group(strings.Repeat("a/", 1500))
	require.NoError(t, err)
	deep := write(t, w)
	require.ErrorContains(t, readEverything(deep, false, 0), "nested more than 1000 deep")
	w = NewWriter()
	_, err = w.Root().Group(strings.Repeat(strings.Repeat("a", 1000)+"/", 5))
	require.NoError(t, err)
	refused(t, write(t, w), "a path of 5005 bytes")
}

func TestBrokenTextRefused(t *testing.T) {
	b := little(t)
	heap := at(t, b, "GCOL", 0)
	refused(t, set(b, heap+8, 1<<50), "global heap")
	refused(t, set(b, heap+8, 8), "global heap of 8 bytes")
	refused(t, set(b, heap+24, 1<<50), "object 1 of 1125899906842624 bytes")
	refused(t, set(b, heap+24, 3), "a string of 9 bytes in a heap object of 3")
	refused(t, set(b, heap+16, 2), "has no object 1")
	// Collections that overlap: each element refers to another one, all of which reach to the end of the file.
	var names []string
	for i := range 200 {
		names = append(names, fmt.Sprintf("%08d%s", i, strings.Repeat("x", 5000)))
	}
	w := NewWriter()
	_, err := w.Root().Strings("names", []int{200}, names)
	require.NoError(t, err)
	b = write(t, w)
	for n := range 200 {
		place := at(t, b, "GCOL", n)
		binary.LittleEndian.PutUint64(b[place+8:], uint64(len(b)-place))
		binary.LittleEndian.PutUint64(b[place+24:], uint64(len(b)-place-32))
	}
	refused(t, b, "add up to more than")
}

// Headers that all claim the rest of the file: each could be read, but not all of them.
func TestOverlappingHeadersRefused(t *testing.T) {
	w := manyDatasets(t, 2000)
	b := write(t, w)
	f := openBytes(t, b)
	require.NoError(t, f.Root().readLinks())
	for _, entry := range f.Root().links.byName {
		header := b[entry.address:]
		binary.LittleEndian.PutUint32(header[8:], uint32(len(b)-int(entry.address)-16)) // bytes
	}
	var failed error
	used := allocated(func() {
		root := openBytes(t, b).Root()
		for i := range 2000 {
			if _, err := root.Lookup(fmt.Sprint(i)); err != nil {
				failed = err
			}
		}
	})
	require.ErrorContains(t, failed, "so they overlap")
	require.LessOrEqual(t, used, uint64(1<<20+20*len(b)), "bytes allocated")
}

func TestLinksNotFollowed(t *testing.T) {
	f := openTestdata(t, "groups_earliest.h5")
	for name, target := range map[string]string{"soft": `soft link to "/a/b"`, "external": `external link to "other.h5:/x"`} {
		for _, path := range []string{name, name + "/0", "/" + name} {
			_, err := f.Root().Lookup(path)
			require.ErrorIs(t, err, ErrLink)
			if name == "soft" {
				require.ErrorContains(t, err, target)
			}
		}
	}
	f = openTestdata(t, "groups_compact_latest.h5")
	_, err := f.Root().Group("external")
	require.ErrorIs(t, err, ErrLink)
	require.ErrorContains(t, err, `other.h5`)
	_, err = f.Root().Group("soft")
	require.ErrorContains(t, err, `soft link to "/a/b"`)
	names, err := f.Root().Names()
	require.NoError(t, err)
	require.Equal(t, []string{"a", "alias", "external", "soft"}, names)

	f = openTestdata(t, "elsewhere.h5")
	for _, name := range []string{"external", "virtual"} {
		d, err := f.Root().Dataset(name)
		require.NoError(t, err)
		require.Equal(t, []int{4}, d.Shape())
		_, err = d.Float32s()
		require.ErrorIs(t, err, ErrExternal)
		require.ErrorIs(t, d.ReadInto(make([]byte, 16)), ErrExternal)
	}
}

func TestLookupErrors(t *testing.T) {
	f := openBytes(t, little(t))
	_, err := f.Root().Lookup("folder/y")
	require.ErrorIs(t, err, ErrNotFound)
	require.ErrorContains(t, err, `"/folder/y"`)
	_, err = f.Root().Lookup("folder/x/z")
	require.ErrorIs(t, err, ErrNotFound)
	require.ErrorContains(t, err, "is a dataset")
	_, err = f.Root().Dataset("folder")
	require.ErrorContains(t, err, "is a group")
	_, err = f.Root().Group("folder/x")
	require.ErrorContains(t, err, "is a dataset")
	d, err := f.Root().Dataset("folder/x")
	require.NoError(t, err)
	require.ErrorContains(t, d.ReadInto(make([]byte, 5)), "got 5 bytes, expected 217284")
	_, err = d.Strings()
	require.ErrorIs(t, err, ErrUnsupported)
	_, err = d.Int64s()
	require.ErrorContains(t, err, "float32, expected integers")
	_, err = d.Attribute("none")
	require.ErrorIs(t, err, ErrNotFound)
	a, err := d.Attribute("text")
	require.NoError(t, err)
	_, err = a.Float64s()
	require.ErrorContains(t, err, "string, expected numbers")
}

// A flipped bit in a structure with a checksum is found.
func TestChecksums(t *testing.T) {
	for name, signs := range map[string][]string{
		"groups_dense_latest.h5": {"\x89HDF", "OHDR", "FRHP", "BTHD", "BTLF", "FHDB"},
		"chunked_latest.h5":      {"FAHD", "FADB", "EAHD", "EAIB", "EADB", "BTHD"},
	} {
		b := unpack(t, name)
		require.NoError(t, readEverything(b, false, math.MaxInt64))
		for _, sign := range signs {
			broken := bytes.Clone(b)
			place := at(t, b, sign, 0) + 30
			broken[place] ^= 1
			require.ErrorContains(t, readEverything(broken, false, math.MaxInt64), "checksum", sign)
		}
	}
	b := unpack(t, "groups_dense_latest.h5")
	b[at(t, b, "FHDB", 0)+5] ^= 1 // whose heap it is
	require.ErrorContains(t, readEverything(b, true, math.MaxInt64), "fractal heap block at offset")

	b = unpack(t, "chunked_earliest.h5")
	f := openBytes(t, b)
	d, err := f.Root().Dataset("fletcher")
	require.NoError(t, err)
	found, err := d.chunks(newGrid(d.space.shape, d.layout.chunk))
	require.NoError(t, err)
	b[found[0].address] ^= 1
	_, err = d.Float32s()
	require.ErrorContains(t, err, "a chunk with checksum")
}

// bomb is a chunk that unpacks to more than the chunk's size, and others that are not what they should be.
func TestBrokenChunksRefused(t *testing.T) {
	b := unpack(t, "chunked_earliest.h5")
	for _, name := range []string{"gzip", "lzf", "shuffle_gzip", "all"} {
		f := openBytes(t, b)
		d, err := f.Root().Dataset(name)
		require.NoError(t, err)
		_, err = d.Float64s()
		require.NoError(t, err)
		d.layout.chunkBytes -= uint64(d.typ.Size)
		_, err = d.Float64s()
		require.ErrorIs(t, err, ErrCorrupt, name)
		d.layout.chunkBytes -= 9 * uint64(d.typ.Size)
		_, err = d.Float64s()
		require.ErrorIs(t, err, ErrCorrupt, name)
		if name == "gzip" {
			require.ErrorContains(t, err, "unpacks to more than")
		}
		d.layout.chunkBytes += 11 * uint64(d.typ.Size)
		_, err = d.Float64s()
		require.ErrorIs(t, err, ErrCorrupt, name)
	}
	f := openBytes(t, b)
	d, err := f.Root().Dataset("plain")
	require.NoError(t, err)
	d.layout.chunk[0]++
	_, err = d.Float64s()
	require.ErrorContains(t, err, "a chunk at offset 8 of axis 0, which has chunks of 9")
	// Chunks that together unpack to more than the file can hold, though the dataset is small.
	d, err = f.Root().Dataset("large_chunk")
	require.NoError(t, err)
	_, err = d.Float64s()
	require.NoError(t, err)
	d.layout.chunkBytes = spareBytes + 1
	_, err = d.Float64s()
	require.ErrorContains(t, err, "1 chunks of 16777217 bytes")

	d, err = f.Root().Dataset("gzip")
	require.NoError(t, err)
	d.filters[0].id = 32015
	_, err = d.Float64s()
	require.ErrorContains(t, err, "the filter zstd")

	packed := []byte{0x1f, 'a', 0xff, 0xff, 0}
	_, err = (&decoder{filters: []filter{{id: filterLZF}}, want: 100}).decode(packed, 0)
	require.ErrorContains(t, err, "lzf")
}

// Every 23rd byte of small files is changed in turn; whatever comes of it, it is an answer or an error.
func TestChangedBytes(t *testing.T) {
	for _, name := range []string{"types_earliest.h5", "types_latest.h5", "groups_compact_latest.h5", "sizes4.h5"} {
		b := unpack(t, name)
		for i := 0; i < len(b); i += 23 {
			old := b[i]
			for _, v := range []byte{0, 1, 0xff, old ^ 0x80} {
				b[i] = v
				_ = readEverything(b, true, 1<<16)
			}
			b[i] = old
		}
	}
}
