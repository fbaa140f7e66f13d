// Package plot draws models and training curves: [Model] the graph of a model's layers, [History] and [HistoryFile] the
// values of each epoch.
//
// The extension of the file decides what is written: ".svg" (a drawing that stays sharp at any size), ".png" (a
// picture), and for models also ".dot" (the graph in Graphviz's language, as Keras's model_to_dot makes it). Files are
// replaced atomically.
//
// # How a model is laid out
//
// Boxes are assigned to ranks so that calls point from a rank to a later one, with the edges as short as that allows;
// an edge over several ranks gets a lane through the ranks between. The order within each rank is the one with the
// fewest crossings found by sweeps over the ranks (Sugiyama, Tagawa and Toda, "Methods for visual understanding of
// hierarchical system structures", 1981; weights and transpositions after Gansner et al., "A technique for drawing
// directed graphs", 1993). Positions minimize the weighted squares of sideways steps, rank by rank, with the distances
// between neighbours kept. A model inside the model is laid out on its own and takes part as one large box. The same
// model always gives the same bytes.
package plot
