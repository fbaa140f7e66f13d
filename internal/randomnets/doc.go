// Package randomnets compares the shapes, parameters and refusals of random networks with open axes with those of
// Keras. It holds tests alone: randomnets.py draws the networks and writes down what Keras makes of them.
package randomnets
