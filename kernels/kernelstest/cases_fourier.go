package kernelstest

import "github.com/gokeras/gokeras/kernels/ir"

func fourierCases(s *suite) {
	for _, dtype := range floats {
		for _, c := range []struct {
			shape ir.Shape
			axis  int
		}{
			{ir.Shape{1}, 0}, {ir.Shape{2}, 0}, {ir.Shape{64}, 0}, {ir.Shape{3, 15}, 1}, {ir.Shape{20, 60}, 1}, {ir.Shape{40, 128}, 1}, {ir.Shape{2, 512}, 1}, {ir.Shape{19, 77}, 1}, {ir.Shape{2, 263}, 1}, {ir.Shape{9, 521}, 1},
			{ir.Shape{0, 4}, 1}, {ir.Shape{16, 3}, 1}, {ir.Shape{16, 20}, 0}, {ir.Shape{3, 32, 5}, 1}, {ir.Shape{2, 12, 33}, 1}, {ir.Shape{2, 8, 2, 9}, 1}, {ir.Shape{9, 1}, 1}, {ir.Shape{5, 0}, 0},
		} {
			d := s.new(ir.Fourier, "%v%v axis %d", dtype, c.shape, c.axis).withinWhole(loose(dtype))
			d.add(ir.FourierAttrs{Axis: c.axis, Length: c.shape[c.axis]}, d.normal(dtype, c.shape...), d.normal(dtype, c.shape...))
		}
		for _, c := range []struct {
			lead   ir.Shape
			length int
		}{
			{ir.Shape{}, 1}, {ir.Shape{}, 2}, {ir.Shape{}, 256}, {ir.Shape{2}, 24}, {ir.Shape{3}, 9}, {ir.Shape{33}, 64}, {ir.Shape{50}, 45}, {ir.Shape{5, 7}, 16}, {ir.Shape{0}, 8}, {ir.Shape{32}, 7}, {ir.Shape{17}, 100}, {ir.Shape{40}, 510}, {ir.Shape{1}, 34}, {ir.Shape{2}, 526},
		} {
			a, rank := ir.FourierAttrs{Axis: len(c.lead), Length: c.length}, len(c.lead)
			d := s.new(ir.RealFourier, "%v%v length %d", dtype, c.lead, c.length).withinWhole(loose(dtype))
			d.add(a, d.normal(dtype, append(c.lead[:rank:rank], c.length)...))
			d = s.new(ir.HermitianFourier, "%v%v length %d", dtype, c.lead, c.length).withinWhole(loose(dtype))
			d.add(a, d.normal(dtype, append(c.lead[:rank:rank], a.Bins())...), d.normal(dtype, append(c.lead[:rank:rank], a.Bins())...))
		}
	}
}
