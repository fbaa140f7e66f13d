package cpu

import "unsafe"

// Boxes of a few elements that vectors cannot rearrange are copied element by element, from places that are computed
// only once. Loops over axes of a few elements would take longer, and loops over a long outer axis would go through the
// cache once for each index of the others.

// leastPlaces and mostPlaces limit the elements of a box, and placesReach the bytes of the source that it spans.
// Vectors are faster at transposing planes of more than wholePlane elements, and columns longer than longColumn that
// become rows of up to four elements.
const (
	leastPlaces = 16
	mostPlaces  = 1024
	placesReach = 16 << 10
	wholePlane  = 256
	longColumn  = 20
)

// manyPlaces reports whether there is a plane that is too large to be copied element by element.
func (c *ndCopy) manyPlaces() bool {
	if c.tile < 0 {
		return false
	}
	rows, cols := c.dims[c.tile], c.dims[len(c.dims)-1]
	return rows >= shortPlane && cols >= shortPlane && rows*cols > wholePlane || rows > longColumn && cols <= 4 && c.dst[c.tile] == cols*c.size
}

// findPlaces looks for a box whose innermost axis is short and has gaps in the source.
func (c *ndCopy) findPlaces() {
	last := len(c.dims) - 1
	if c.block != nil || c.groups != nil || c.boxes != nil || c.size > 8 || bigEndian || c.manyPlaces() ||
		c.dims[last] < 2 || c.dims[last] >= shortBox || c.src[last] == c.size || c.src[last] == 0 {
		return
	}
	n, low, high, first := 1, 0, 0, last+1
	for k := last; k > 0 && c.dst[k] == n*c.size && c.src[k]%c.size == 0 && n*c.dims[k] <= mostPlaces; k-- {
		reach := (c.dims[k] - 1) * c.src[k]
		if high+max(reach, 0)-low-min(reach, 0) > placesReach {
			break
		}
		n, low, high, first = n*c.dims[k], low+min(reach, 0), high+max(reach, 0), k
	}
	if n < leastPlaces || first == last {
		return
	}
	inner := &ndCopy{size: c.size, dims: c.dims[first:], dst: c.dst[first:], src: c.src[first:]}
	for i := range n {
		c.places = append(c.places, int32((inner.source(i*c.size)-low)/c.size))
	}
	c.tile, c.lowest, c.inside = -1, low, inner
}

// runPlaces is run with places.
func (c *ndCopy) runPlaces(dst, src unsafe.Pointer, lo, hi int) {
	var o odometer
	dst, src = unsafe.Add(dst, lo*c.dst[0]), unsafe.Add(src, lo*c.src[0])
	o.n = copy(o.dims[:], c.dims[:len(c.dims)-len(c.inside.dims)])
	copy(o.dst[:], c.dst)
	copy(o.src[:], c.src)
	o.dims[0] = hi - lo
	for more := true; more; more = o.next() {
		d, s := unsafe.Add(dst, o.to), unsafe.Add(src, o.from+c.lowest)
		switch c.size {
		case 1:
			gatherPlaces[uint8](d, s, c.places)
		case 2:
			gatherPlaces[uint16](d, s, c.places)
		case 4:
			gatherPlaces[uint32](d, s, c.places)
		default:
			gatherPlaces[uint64](d, s, c.places)
		}
	}
}

func gatherPlaces[T any](dst, src unsafe.Pointer, places []int32) {
	gatherAt(unsafe.Slice((*T)(dst), len(places)), unsafe.Slice((*T)(src), 1), places)
}
