// Package randomstate is the part of NumPy's legacy generator numpy.random.RandomState that Keras uses to order files,
// so that the same seed chooses the same validation files as in Keras. New code should use internal/philox.
package randomstate

const (
	size   = 624
	period = 397
)

// RandomState is the Mersenne Twister MT19937 (M. Matsumoto, T. Nishimura, ACM TOMACS 8(1), 1998).
type RandomState struct {
	state [size]uint32
	next  int
}

// New seeds the generator as numpy.random.RandomState(seed) does for 0 <= seed < 2^32.
func New(seed uint32) *RandomState {
	r := &RandomState{next: size}
	for i := range r.state {
		r.state[i] = seed
		seed = 1812433253*(seed^seed>>30) + uint32(i) + 1
	}
	return r
}

// Uint32 returns the next word.
func (r *RandomState) Uint32() uint32 {
	if r.next == size {
		r.twist()
	}
	y := r.state[r.next]
	r.next++
	y ^= y >> 11
	y ^= y << 7 & 0x9d2c5680
	y ^= y << 15 & 0xefc60000
	return y ^ y>>18
}

func (r *RandomState) twist() {
	for i := range r.state {
		y := r.state[i]&0x80000000 | r.state[(i+1)%size]&0x7fffffff
		v := r.state[(i+period)%size] ^ y>>1
		if y&1 != 0 {
			v ^= 0x9908b0df
		}
		r.state[i] = v
	}
	r.next = 0
}

// interval returns a number in [0, last] by rejecting words under the smallest mask that covers it.
func (r *RandomState) interval(last uint32) uint32 {
	mask := last
	for shift := 1; shift < 32; shift *= 2 {
		mask |= mask >> shift
	}
	for {
		if v := r.Uint32() & mask; v <= last {
			return v
		}
	}
}

// Shuffle permutes n items as RandomState.shuffle permutes a list; swap exchanges two items. n must be less than 2^32.
func (r *RandomState) Shuffle(n int, swap func(i, j int)) {
	for i := n - 1; i > 0; i-- {
		swap(i, int(r.interval(uint32(i))))
	}
}
