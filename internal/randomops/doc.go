// Package randomops compares random calls of the functions of keras.ops with Keras: every type, empty arrays, numbers
// at the ends of a type, wrong arguments. It contains only tests: randomops.py draws the calls and records Keras's
// results.
package randomops
