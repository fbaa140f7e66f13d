// Package boundingboxes computes with boxes around objects in images: it converts between formats, clips and moves
// boxes, compares them, and encodes them relative to anchors. Like those of package ops, its functions are called
// inside a trace; they behave like keras.utils.bounding_boxes.
//
// A box is four numbers along the last axis, (boxes, 4) or (batch, boxes, 4), whose order a [Format] specifies.
// Coordinates are measured in pixels from the upper left corner of the image, x to the right and y downwards; in
// relative formats they are fractions of its width and height. Results are float32, as in Keras, or float64 for float64
// boxes.
package boundingboxes
