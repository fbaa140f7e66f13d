// Package randomnets compares random networks with open axes with Keras: shapes, parameters, and which networks are
// refused. Other scripts draw models, models of layers with different dtype policies, functions, layers, layers
// of words with vocabularies, and networks of wide layers. It contains only tests: the scripts record Keras's results.
package randomnets
