package layers

import "github.com/gokeras/gokeras/kernels"

// slabElements is the number of elements of a table that are quantized at a time. Transposing a large table as a whole,
// in float64, would take several times its memory.
const slabElements = 1 << 18

// inSlabs quantizes a table a few rows at a time, and joins the arrays that quantize returns along the first axis.
//
//dim:known weights have fixed axes
func inSlabs(m kernels.Array, quantize func(kernels.Array) ([]kernels.Array, error)) ([]kernels.Array, error) {
	rows := m.Type.Shape[0]
	step := max(slabElements/max(m.Type.Shape[1], 1), 1)
	if rows <= step {
		return quantize(m)
	}
	slabs := (rows + step - 1) / step
	var joined []kernels.Array
	for first := 0; first < rows; first += step {
		parts, err := quantize(m.Slice(first, min(first+step, rows)))
		if err != nil {
			return nil, err
		}
		if joined == nil {
			joined = make([]kernels.Array, len(parts))
			for i, p := range parts {
				joined[i].Type, joined[i].Data = p.Type, make([]byte, 0, slabs*len(p.Data))
				joined[i].Type.Shape = p.Type.Shape.Clone()
				joined[i].Type.Shape[0] = 0
			}
		}
		for i, p := range parts {
			joined[i].Data = append(joined[i].Data, p.Data...)
			joined[i].Type.Shape[0] += p.Type.Shape[0]
		}
	}
	return joined, nil
}
