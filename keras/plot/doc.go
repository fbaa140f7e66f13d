// Package plot draws models and training curves: [Model] draws the graph of a model's layers, [History] and
// [HistoryFile] draw the values of each epoch.
//
// The extension of the file determines its format: ".svg" (a vector drawing, sharp at any size), ".png" (a raster
// image), and for models also ".dot" (the graph in Graphviz's language, like that of Keras's model_to_dot). Files are
// replaced atomically.
//
// # How a model is laid out
//
// Boxes are assigned to ranks so that calls point to later ranks, with the edges as short as possible; an edge over
// several ranks gets a lane through the ranks in between. The order within each rank is the one with the fewest
// crossings that sweeps over the ranks find (Sugiyama, Tagawa and Toda, "Methods for visual understanding of
// hierarchical system structures", 1981; weights and transpositions after Gansner et al., "A technique for drawing
// directed graphs", 1993). Positions minimize the weighted squares of sideways steps, rank by rank, under minimum
// distances between neighbours. A nested model is laid out separately and then treated as one large box. The same model
// always gives the same bytes.
package plot
