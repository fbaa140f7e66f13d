package hdf5

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"errors"
	"io"
)

// The filters that are understood.
const (
	filterDeflate  = 1
	filterShuffle  = 2
	filterFletcher = 3
	filterLZF      = 32000
)

var filterNames = map[uint16]string{4: "szip", 5: "nbit", 6: "scaleoffset", 32001: "blosc", 32004: "lz4", 32015: "zstd"}

// filter is one step of the pipeline that chunks went through when they were written.
type filter struct {
	id     uint16
	values []uint32
}

// parseFilters reads a filter pipeline message.
func parseFilters(c *cursor) ([]filter, error) {
	version := c.version(1, 2)
	count := int(c.u8())
	if version == 1 {
		c.skip(6)
	}
	if c.err == nil && count > 32 {
		return nil, corrupt("%d filters, at most 32", count)
	}
	var all []filter
	for range count {
		f := filter{id: c.u16()}
		nameSize := 0
		if version == 1 || f.id >= 256 {
			nameSize = int(c.u16())
		}
		c.skip(2) // flags
		n := int(c.u16())
		if version == 1 {
			nameSize = (nameSize + 7) / 8 * 8
		}
		c.skip(nameSize)
		for range n {
			f.values = append(f.values, c.u32())
			if c.err != nil {
				return nil, c.err
			}
		}
		if version == 1 && n%2 == 1 {
			c.skip(4)
		}
		all = append(all, f)
	}
	return all, c.err
}

// decoder undoes the filters of chunk after chunk, in buffers of its own.
type decoder struct {
	filters []filter
	want    int       // bytes of a decoded chunk
	buffers [2][]byte // filled in turn, so that a filter never writes over what it reads
	turn    int
	inflate io.ReadCloser
}

// decode undoes the filters on a chunk; mask has a bit for each filter that was left out when it was written. The
// result is valid until the next call.
func (d *decoder) decode(b []byte, mask uint32) ([]byte, error) {
	for i := len(d.filters) - 1; i >= 0; i-- {
		if mask>>i&1 != 0 {
			continue
		}
		var err error
		switch f := d.filters[i]; f.id {
		case filterDeflate:
			b, err = d.undoDeflate(b)
		case filterShuffle:
			b, err = d.undoShuffle(b, f.values)
		case filterFletcher:
			b, err = undoFletcher(b)
		case filterLZF:
			b, err = d.undoLZF(b)
		default:
			if name, ok := filterNames[f.id]; ok {
				return nil, unsupported("the filter %s", name)
			}
			return nil, unsupported("filter %d", f.id)
		}
		if err != nil {
			return nil, err
		}
	}
	if len(b) != d.want {
		return nil, corrupt("a chunk of %d bytes, expected %d", len(b), d.want)
	}
	return b, nil
}

// most is the largest length of a filter's result: a chunk plus the checksums of earlier filters.
func (d *decoder) most() int { return d.want + 4*len(d.filters) }

// buffer gives the buffer that the next filter may fill.
func (d *decoder) buffer() []byte {
	d.turn = 1 - d.turn
	if b := &d.buffers[d.turn]; *b == nil {
		*b = make([]byte, d.most())
	}
	return d.buffers[d.turn]
}

func (d *decoder) undoDeflate(b []byte) ([]byte, error) {
	source := bytes.NewReader(b)
	var err error
	if d.inflate == nil {
		d.inflate, err = zlib.NewReader(source)
	} else {
		err = d.inflate.(zlib.Resetter).Reset(source, nil)
	}
	if err != nil {
		return nil, corrupt("a chunk that gzip cannot read: %v", err)
	}
	out := d.buffer()
	n, err := io.ReadFull(d.inflate, out)
	if err == nil { // full: it must end here
		var more [1]byte
		if extra, end := d.inflate.Read(more[:]); extra > 0 {
			return nil, corrupt("a chunk that unpacks to more than %d bytes", len(out))
		} else if err = end; errors.Is(err, io.EOF) {
			err = nil
		}
	} else if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		// ReadFull returns ErrUnexpectedEOF both if the stream ends before the buffer is full and if the stream is
		// torn.
		if _, end := d.inflate.Read(make([]byte, 1)); errors.Is(end, io.EOF) {
			err = nil
		}
	}
	if err != nil {
		return nil, corrupt("a chunk that gzip cannot read: %v", err)
	}
	return out[:n], nil
}

// undoShuffle puts the bytes of elements together again: first come all first bytes, then all second ones, ...
func (d *decoder) undoShuffle(b []byte, values []uint32) ([]byte, error) {
	if len(values) < 1 || values[0] == 0 {
		return nil, corrupt("the filter shuffle without the size of elements")
	}
	size := int(values[0])
	count := len(b) / size
	if size == 1 || count < 2 {
		return b, nil
	}
	if len(b) > d.most() {
		return nil, corrupt("a chunk of %d bytes, expected %d", len(b), d.want)
	}
	out := d.buffer()[:len(b)]
	for plane := range size {
		source := b[plane*count : (plane+1)*count]
		for i, v := range source {
			out[i*size+plane] = v
		}
	}
	copy(out[count*size:], b[count*size:]) // what fills no element stays
	return out, nil
}

// undoFletcher checks and removes the checksum at the end. Writers before HDF5 1.6.3 had its bytes swapped in pairs.
func undoFletcher(b []byte) ([]byte, error) {
	if len(b) < 4 {
		return nil, corrupt("a chunk of %d bytes has no checksum", len(b))
	}
	data, sum := b[:len(b)-4], binary.LittleEndian.Uint32(b[len(b)-4:])
	got := fletcher32(data)
	if old := got>>8&0x00ff00ff | got&0x00ff00ff<<8; got != sum && old != sum {
		return nil, corrupt("a chunk with checksum %08x, expected %08x", got, sum)
	}
	return data, nil
}

// fletcher32 is Fletcher's checksum over big-endian words of 16 bits.
// J. G. Fletcher, "An Arithmetic Checksum for Serial Transmissions", IEEE Transactions on Communications 30(1), 1982.
func fletcher32(b []byte) uint32 {
	fold := func(v uint32) uint32 { return v&0xffff + v>>16 }
	var low, high uint32
	for len(b) > 0 {
		n := min(len(b), 720) // no overflow in 360 words
		for i := 0; i < n; i += 2 {
			word := uint32(b[i]) << 8
			if i+1 < n {
				word |= uint32(b[i+1])
			}
			low += word
			high += low
		}
		low, high = fold(low), fold(high)
		b = b[n:]
	}
	return fold(high)<<16 | fold(low)
}

// undoLZF unpacks LibLZF's format: runs of literals, and copies of what came before.
func (d *decoder) undoLZF(b []byte) ([]byte, error) {
	bad := func() ([]byte, error) { return nil, corrupt("a chunk that lzf cannot read") }
	buffer := d.buffer()
	out := buffer[:0]
	for i := 0; i < len(b); {
		control := int(b[i])
		i++
		if control < 32 {
			n := control + 1
			if i+n > len(b) || len(out)+n > len(buffer) {
				return bad()
			}
			out = append(out, b[i:i+n]...)
			i += n
			continue
		}
		n := control >> 5
		if n == 7 {
			if i >= len(b) {
				return bad()
			}
			n += int(b[i])
			i++
		}
		if i >= len(b) {
			return bad()
		}
		from := len(out) - (control&31)<<8 - int(b[i]) - 1
		i++
		if from < 0 || len(out)+n+2 > len(buffer) {
			return bad()
		}
		for range n + 2 { // source and destination may overlap
			out = append(out, out[from])
			from++
		}
	}
	return out, nil
}
