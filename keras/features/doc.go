// Package features turns columns of a table (numbers, categories, words) into inputs for a network: FeatureSpace of
// keras.utils.
//
//	space, err := features.New(map[string]features.Feature{
//		"age":     features.FloatNormalized(),
//		"job":     features.StringCategorical(),
//		"zip":     features.IntegerHashed(64),
//		"balance": features.FloatDiscretized(16),
//	}, features.Crosses(32, []string{"job", "zip"}))
//	err = space.Adapt(ctx, data.Arrays(table, nil))
//
// There are two ways to use a space. [Space.Map] encodes a dataset as it streams, so the model receives numbers. Or the
// model itself starts with the space, takes the raw columns, and is saved and served with it:
//
//	inputs, encoded, err := space.Encoded()
//	y := layers.Apply(&layers.Dense{Units: 1}, encoded[0])
//	model, err := keras.NewFunctional(keras.Inputs(inputs...), keras.Outputs(y))
//
// [Space.Save] writes the .keras file that keras.utils.FeatureSpace writes, and [Load] reads it.
package features
