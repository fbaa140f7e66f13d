package hdf5

import "math"

const maxRank = 32

// dataspace is the shape of a dataset or an attribute.
type dataspace struct {
	null    bool // without elements, h5py.Empty
	shape   []int
	largest []uint64 // the shape up to which the dataset may grow; math.MaxUint64 is without limit; nil: it is shape
	count   uint64   // product of shape
}

// parseDataspace reads a dataspace message.
func parseDataspace(c *cursor) (dataspace, error) {
	version := c.version(1, 2)
	rank, flags := int(c.u8()), c.u8()
	kind := uint8(1)
	if version == 1 {
		c.skip(5)
	} else {
		kind = c.u8()
	}
	if c.err != nil {
		return dataspace{}, c.err
	}
	if kind == 2 {
		return dataspace{null: true}, nil
	}
	if kind > 2 {
		return dataspace{}, unsupported("%s of kind %d", c.what, kind)
	}
	if rank > maxRank {
		return dataspace{}, corrupt("%s: %d axes, at most %d", c.what, rank, maxRank)
	}
	s := dataspace{shape: make([]int, rank), count: 1}
	dims := make([]uint64, rank)
	for i := range dims {
		dims[i] = c.length()
	}
	if flags&1 != 0 {
		s.largest = make([]uint64, rank)
		for i := range s.largest {
			s.largest[i] = c.length()
			if c.f.lengthSize < 8 && s.largest[i] == 1<<(8*c.f.lengthSize)-1 {
				s.largest[i] = math.MaxUint64
			}
		}
	}
	if c.err != nil {
		return dataspace{}, c.err
	}
	for i, n := range dims {
		if n > math.MaxInt || (n > 0 && s.count > math.MaxInt/n) {
			return dataspace{}, corrupt("%s: shape %v has more elements than can be counted", c.what, dims)
		}
		if s.largest != nil && s.largest[i] < n {
			return dataspace{}, corrupt("%s: shape %v exceeds its maximum %v", c.what, dims, s.largest)
		}
		s.shape[i] = int(n)
		s.count *= n
	}
	return s, nil
}
