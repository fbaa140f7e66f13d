package plot

import (
	"fmt"
	"image/color"
	"reflect"
	"strings"

	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers"
)

// label is the text of a box: a title on a coloured bar, and below it rows of cells.
type label struct {
	title, class string // the class is "" if the title shows it
	rows         [][]cell
	bar          color.NRGBA
	w, h         float64
	barHeight    float64
	rowHeight    float64
}

// cell is a caption with a value, or a value on a coloured background.
type cell struct {
	caption, value string
	fill           color.NRGBA // zero: white
	w              float64
}

const (
	titleSize = 13.0
	cellSize  = 11.0
	padX      = 11.0
	cellGap   = 4.0 // between caption and value
)

// newLabel writes the text of a box, as Keras's make_layer_label does, and measures it.
func newLabel(b *box, c *config) label {
	l := label{title: b.name, class: " (" + b.class + ")", bar: barColor(b), barHeight: 28, rowHeight: 25}
	if !c.names {
		l.title, l.class = b.class, ""
	}
	if name := activationName(b.layer); c.activations && name != "" {
		l.rows = append(l.rows, []cell{{caption: "Activation:", value: name}})
	}
	var row []cell
	if c.shapes && b.class != "InputLayer" {
		row = append(row, cell{caption: "Input shape:", value: shapesText(b.in)})
	}
	if c.shapes {
		row = append(row, cell{caption: "Output shape:", value: shapesText(b.out)})
	}
	if c.dtypes {
		row = append(row, cell{caption: "Output dtype:", value: dtypesText(b.out)})
	}
	if c.trainable && b.layer != nil && len(layers.Weights(b.layer)) > 0 {
		mark := cell{value: "Trainable", fill: forestGreen}
		if len(layers.TrainableWeights(b.layer)) == 0 {
			mark = cell{value: "Non-trainable", fill: fireBrick}
		}
		row = append(row, mark)
	}
	switch {
	case c.sideways(): // narrow boxes shorten a drawing from left to right
		for _, one := range row {
			l.rows = append(l.rows, []cell{one})
		}
	case len(row) > 0:
		l.rows = append(l.rows, row)
	}
	l.measure()
	return l
}

// measure computes the size of the box. The cells of a row share the remaining width.
func (l *label) measure() {
	l.w = textWidth(l.title, titleSize, true) + textWidth(l.class, titleSize, false) + 2*padX
	for _, row := range l.rows {
		sum := 0.0
		for i := range row {
			c := &row[i]
			c.w = textWidth(c.value, cellSize, true) + 2*padX
			if c.caption != "" {
				c.w += textWidth(c.caption, cellSize, false) + cellGap
			}
			sum += c.w
		}
		l.w = max(l.w, sum)
	}
	l.w = max(l.w, 60)
	for _, row := range l.rows {
		rest := l.w
		for _, c := range row {
			rest -= c.w
		}
		for i := range row {
			row[i].w += rest / float64(len(row))
		}
	}
	l.h = l.barHeight + float64(len(l.rows))*l.rowHeight
}

// shapesText prints one shape, or a list.
func shapesText(types []ir.Type) string {
	return listText(types, func(t ir.Type) string { return layers.ShapeString(t.Shape) })
}

func dtypesText(types []ir.Type) string {
	return listText(types, func(t ir.Type) string { return t.DType.String() })
}

func listText(types []ir.Type, text func(ir.Type) string) string {
	if len(types) == 0 {
		return "?"
	}
	parts := make([]string, len(types))
	for i, t := range types {
		parts[i] = text(t)
	}
	if len(parts) == 1 {
		return parts[0]
	}
	if len(parts) > 4 { // a merge of many: the box would be wider than the rest of the drawing
		parts = append(parts[:3], fmt.Sprintf("… %d in all", len(types)))
	}
	return "[" + strings.Join(parts, ", ") + "]"
}

// activationName returns the field Activation of a layer, or "" for layers without one.
func activationName(l layers.Layer) string {
	v := reflect.ValueOf(l)
	for v.Kind() == reflect.Pointer && !v.IsNil() {
		v = v.Elem()
	}
	if v.Kind() != reflect.Struct {
		return ""
	}
	field, ok := v.Type().FieldByName("Activation")
	if !ok || field.Type.Kind() != reflect.Interface {
		return ""
	}
	switch value := v.FieldByIndex(field.Index).Interface().(type) {
	case nil:
		_, name, _ := strings.Cut(field.Tag.Get("keras"), "default=")
		return name
	case string:
		return value
	case layers.Layer:
		return layers.ClassName(value)
	default:
		return reflect.TypeOf(value).String()
	}
}

// families determine the colour of a box's bar: the first row whose word is part of the class. The colours are dark
// enough for white text (contrast of 4.5 and more).
var families = []struct {
	color color.NRGBA
	words []string
}{
	{hex(0x455a64), []string{"InputLayer"}},
	{hex(0x283593), []string{"Functional", "Sequential", "Model"}},
	{hex(0x00695c), []string{"LSTM", "GRU", "RNN", "Bidirectional", "TimeDistributed"}},
	{hex(0x2e7d32), []string{"Pool"}},
	{hex(0x6a1b9a), []string{"Attention", "Embedding"}},
	{hex(0x8d4a00), []string{"Normalization", "Rescaling"}},
	{hex(0xad1457), []string{"Activation", "ReLU", "Softmax", "ELU", "Dropout", "Noise"}},
	{hex(0x5d4037), []string{"Flatten", "Reshape", "Permute", "Padding", "Cropping", "UpSampling", "Repeat", "Masking"}},
	{hex(0x37474f), []string{"Add", "Multiply", "Subtract", "Average", "Maximum", "Minimum", "Concatenate", "Dot"}},
	{hex(0x1565c0), []string{"Conv", "Dense"}},
}

func barColor(b *box) color.NRGBA {
	for _, f := range families {
		for _, word := range f.words {
			if strings.Contains(b.class, word) {
				return f.color
			}
		}
	}
	return hex(0x424242)
}

var (
	forestGreen = hex(0x228b22)
	fireBrick   = hex(0xb22222)
)

func hex(rgb uint32) color.NRGBA {
	return color.NRGBA{R: uint8(rgb >> 16), G: uint8(rgb >> 8), B: uint8(rgb), A: 0xff}
}
