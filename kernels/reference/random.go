package reference

import (
	"github.com/gokeras/gokeras/kernels/ir"
)

// philox is Philox4x32-10 (Salmon et al., "Parallel Random Numbers: As Easy as 1, 2, 3", SC 2011).
func philox(counter [4]uint32, key [2]uint32) [4]uint32 {
	for range 10 {
		a := uint64(counter[0]) * 0xD2511F53
		b := uint64(counter[2]) * 0xCD9E8D57
		counter = [4]uint32{
			uint32(b>>32) ^ counter[1] ^ key[0],
			uint32(b),
			uint32(a>>32) ^ counter[3] ^ key[1],
			uint32(a),
		}
		key[0] += 0x9E3779B9
		key[1] += 0xBB67AE85
	}
	return counter
}

// word returns random word i of a stream; state is seed low, seed high, step, replica.
func word(state []int64, stream uint32, i int) uint32 {
	block := philox(
		[4]uint32{uint32(i / 4), stream, uint32(state[2]), uint32(state[3])},
		[2]uint32{uint32(state[0]), uint32(state[1])})
	return block[i%4]
}

func (c *call) rngBits() error {
	stream := c.node.Attrs.(ir.RngAttrs).Stream
	for i := range c.out[0].I {
		c.out[0].I[i] = int64(word(c.in[0].I, stream, i))
	}
	return nil
}

func (c *call) dropout() error {
	a := c.node.Attrs.(ir.DropoutAttrs)
	for i, x := range c.in[0].F {
		if uniform := float64(word(c.in[1].I, a.Stream, i)>>8) / (1 << 24); uniform >= a.Rate {
			c.out[0].F[i] = x / (1 - a.Rate)
		}
	}
	return nil
}
