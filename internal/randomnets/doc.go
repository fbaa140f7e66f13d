// Package randomnets compares random networks with open axes with Keras: shapes, parameters, and which networks are
// refused. It contains only tests: randomnets.py draws the networks and records Keras's results.
package randomnets
