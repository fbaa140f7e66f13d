package driver

// TensorMap describes a matrix in a device's memory, or a batch of them, to kernels that make bulk copies of parts of
// it, called boxes: CUtensorMap. It depends on the address.
type TensorMap [TensorMapWords]uint64

// TensorMapWords is the size of a TensorMap in 64-bit words.
const TensorMapWords = 16

// Tiled describes a TensorMap of 16-bit elements. Lists begin with the innermost axis. A box's elements outside the
// matrix are 0.
type Tiled struct {
	BFloat16 bool // else float16
	Rank     int  // 2, or 3 for a batch
	Lengths  [3]int
	Strides  [2]int // bytes from line to line, and from matrix to matrix
	// Box is the shape of one copy. Its lines have 128 bytes; in each group of eight lines, the 16-byte pieces are
	// swizzled.
	Box [3]int
}

// The driver's limits.
const (
	tensorMapAlign = 16
	maxBox         = 256
	boxLineBytes   = 128
)

// Valid reports whether the driver accepts the description for a matrix at an address.
func (t Tiled) Valid(a Address) bool {
	if t.Rank < 2 || t.Rank > 3 || a%tensorMapAlign != 0 || t.Box[0]*2 != boxLineBytes {
		return false
	}
	for i := range t.Rank {
		if t.Lengths[i] < 1 || t.Lengths[i] > 1<<32 || t.Box[i] < 1 || t.Box[i] > maxBox {
			return false
		}
		if i > 0 && (t.Strides[i-1]%tensorMapAlign != 0 || t.Strides[i-1] < 1 || t.Strides[i-1] >= 1<<40) {
			return false
		}
	}
	return true
}
