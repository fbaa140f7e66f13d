// Package recipes compares networks of the kinds that people build with Keras, in every layer that they need and the
// operations between them: networks of images and volumes, transformers, recurrent networks, graphs, tables. It
// contains only tests and the script that builds the networks.
package recipes
