package kernelstest

import (
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/reference"
)

func packedDotCases(s *suite) {
	for _, dtype := range floats {
		for _, c := range []struct {
			x              ir.Shape
			columns, block int
		}{
			{ir.Shape{1}, 1, 0}, {ir.Shape{1, 4}, 2, 0}, {ir.Shape{2, 3, 5}, 7, 2}, {ir.Shape{4, 9}, 9, 1}, {ir.Shape{3, 33}, 65, 40}, {ir.Shape{2, 0}, 3, 0}, {ir.Shape{2, 0}, 3, 4},
			{ir.Shape{0, 3}, 4, 2}, {ir.Shape{5, 6}, 0, 4}, {ir.Shape{9, 70}, 130, 32}, {ir.Shape{3, 130}, 66, 0},
		} {
			rows := c.x[len(c.x)-1]
			d := s.new(ir.PackedDot, "%v%v by %d in blocks of %d", dtype, c.x, c.columns, c.block).withinWhole(loose(dtype))
			byteOf := func(int) float64 { return float64(d.rng.IntN(256) - 128) }
			in := []reference.Value{d.normal(dtype, c.x...), value(ir.Int8, ir.Shape{rows, (c.columns + 1) / 2}, byteOf)}
			if c.block > 0 {
				scales := ir.Shape{(rows + c.block - 1) / c.block, c.columns}
				in = append(in, d.positive(dtype, scales...), value(ir.Int8, scales, func(int) float64 { return float64(d.rng.IntN(16) - 8) }))
			}
			d.add(ir.PackedDotAttrs{Columns: c.columns, Block: c.block}, in...)
			if c.block == 0 {
				continue
			}
			d = s.new(ir.PackedDot, "%v%v by %d in blocks of %d, by columns", dtype, c.x, c.columns, c.block).withinWhole(loose(dtype))
			scales := ir.Shape{c.columns, (rows + c.block - 1) / c.block}
			anyByte := func(int) float64 { return float64(d.rng.IntN(256)) }
			packed := value(ir.Uint8, ir.Shape{(c.columns + 1) / 2, rows}, anyByte)
			d.add(ir.PackedDotAttrs{Columns: c.columns, Block: c.block, ByColumns: true}, d.normal(dtype, c.x...), packed, d.positive(dtype, scales...), value(ir.Uint8, scales, anyByte))
			for _, bits := range []int{2, 3, 4, 8} {
				d = s.new(ir.PackedDot, "%v%v by %d in blocks of %d, by columns of %d bits", dtype, c.x, c.columns, c.block, bits).withinWhole(loose(dtype))
				below := func(int) float64 { return float64(d.rng.IntN(1 << bits)) }
				d.add(ir.PackedDotAttrs{Columns: c.columns, Block: c.block, ByColumns: true, Bits: bits}, d.normal(dtype, c.x...), value(ir.Uint8, ir.Shape{c.columns, rows}, below),
					d.positive(dtype, scales...), value(ir.Uint8, scales, anyByte))
			}
		}
	}
}
