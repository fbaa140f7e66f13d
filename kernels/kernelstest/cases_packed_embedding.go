package kernelstest

import (
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/reference"
)

func packedEmbeddingCases(s *suite) {
	for _, dtype := range floats {
		for _, c := range []struct {
			where                ir.Shape
			rows, columns, block int
		}{
			{ir.Shape{}, 3, 1, 0}, {ir.Shape{4}, 3, 7, 0}, {ir.Shape{2, 3}, 9, 16, 0}, {ir.Shape{5}, 6, 33, 0}, {ir.Shape{0}, 4, 8, 0}, {ir.Shape{3}, 4, 0, 0}, {ir.Shape{0}, 0, 8, 2},
			{ir.Shape{4}, 3, 7, 2}, {ir.Shape{2, 3}, 5, 9, 3}, {ir.Shape{3}, 7, 64, 32}, {ir.Shape{7, 2}, 5, 90, 40}, {ir.Shape{2}, 5, 101, 16}, {ir.Shape{2}, 2, 5, 8}, {ir.Shape{3}, 4, 600, 8},
		} {
			for _, bits := range []int{4, 8} {
				if bits == 8 && c.block > 0 {
					continue
				}
				d := s.new(ir.PackedEmbedding, "%v %v of %d x %d of %d bits in blocks of %d", dtype, c.where, c.rows, c.columns, bits, c.block).within(2)
				in := []reference.Value{value(ir.Int8, ir.Shape{c.rows, (c.columns*bits + 7) / 8}, func(int) float64 { return float64(d.rng.IntN(256) - 128) }), d.below(ir.Int32, max(c.rows, 1), c.where...)}
				if c.block == 0 {
					in = append(in, d.positive(dtype, c.rows))
				} else {
					scales := ir.Shape{c.rows, (c.columns + c.block - 1) / c.block}
					in = append(in, d.positive(dtype, scales...), value(ir.Int8, scales, func(int) float64 { return float64(d.rng.IntN(40) - 20) }))
				}
				d.add(ir.PackedEmbeddingAttrs{Columns: c.columns, Block: c.block, Bits: bits}, in...)
			}
		}
	}
	for _, index := range integers {
		d := s.new(ir.PackedEmbedding, "indices %v", index).within(2)
		d.add(ir.PackedEmbeddingAttrs{Columns: 12, Bits: 8}, value(ir.Int8, ir.Shape{9, 12}, func(i int) float64 { return float64(i - 50) }), d.below(index, 9, 5), d.positive(ir.Float32, 9))
	}
}
