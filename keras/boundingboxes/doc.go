// Package boundingboxes computes with boxes around objects in images: it converts between formats, clips and moves
// boxes, compares them, and codes them by anchors. Its functions belong to a trace, like those of package ops, and
// behave as keras.utils.bounding_boxes does.
//
// A box is four numbers along the last axis, (boxes, 4) or (batch, boxes, 4), whose order a [Format] names. Coordinates
// count in cells of the image from its upper left corner, x to the right and y downwards; those of relative formats are
// shares of its width and height. Results are float32, as in Keras; of float64 boxes they are float64.
package boundingboxes
