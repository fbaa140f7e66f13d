// Package layertest checks the properties that all layers must have. One call tests a layer, including one from outside
// the project:
//
//	layertest.Run(t, layertest.Case{
//		New:    func() layers.Layer { return &Scale{} },
//		Inputs: []opstest.Array{opstest.Normal(1, 2, 3)},
//		Output: []int{2, 3},
//	})
//
// It checks that the shape computed for open axes is the shape of a call; the configuration survives being written and
// read, and the layer read back computes the same; weights have the declared number and are created once; training and
// inference give finite numbers, as does mixed precision, whose results have the compute type while weights stay in
// float32; an empty batch works and leaves gradients and statistics finite; masks pass through or end as declared; and
// in float64 all gradients equal central differences.
package layertest
