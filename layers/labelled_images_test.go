package layers_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/internal/config"
	"github.com/gokeras/gokeras/internal/vectors"
	"github.com/gokeras/gokeras/keras/boundingboxes"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/keras/ops/opstest"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/reference"
	"github.com/gokeras/gokeras/layers"
)

// moved runs a layer on images with boxes, labels and masks, with given numbers instead of random ones. Inputs are "x",
// "boxes", "box_labels", "masks" and "t/<key>"; results are "x", "boxes", "box_labels" and "masks".
func moved(t *testing.T, l layers.Layer, inputs map[string]opstest.Array) map[string]opstest.Array {
	t.Helper()
	r := distribute.NewReplica("test", 1, 1, 1)
	var e layers.LabelledImages
	var given []reference.Value
	numbers := map[string]*ops.Tensor{}
	for name, a := range inputs {
		v, err := reference.New(a.DType, a.Shape, a.F...)
		require.NoError(t, err)
		given = append(given, v)
		x := r.Graph().Input(name, a.DType, a.Shape...)
		switch name {
		case "x":
			e.Images = x
		case "boxes":
			e.Boxes = x
		case "box_labels":
			e.BoxLabels = x
		case "masks":
			e.Masks = x
		default:
			numbers[strings.TrimPrefix(name, "t/")] = x
		}
	}
	var err error
	func() {
		defer ops.Catch(&err)
		if len(numbers) > 0 {
			e.Images = ops.Cast(e.Images, ir.Float32)
			e = layers.TransformTogether(l, e, numbers)
		} else {
			c := r.Inference()
			c.Training = true
			e = e.Through(l, c)
		}
	}()
	require.NoError(t, err)
	results := map[string]*ops.Tensor{"x": e.Images, "boxes": e.Boxes, "box_labels": e.BoxLabels, "masks": e.Masks}
	var names []string
	for name, y := range results {
		if y != nil {
			names = append(names, name)
			r.Graph().Program().AddOutput(name, ops.In(r.Graph(), y))
		}
	}
	out, err := (reference.Interpreter{Round: true}).Run(r.Graph().Program(), given)
	require.NoError(t, err)
	arrays := map[string]opstest.Array{}
	for i, name := range names {
		a := opstest.Array{Shape: out[i].Type.Shape, DType: out[i].Type.DType}
		for j := range ir.Shape(a.Shape).Size() {
			a.F = append(a.F, out[i].At(j))
		}
		arrays[name] = a
	}
	return arrays
}

// TestKerasBoxesAndMasks compares the effects of layers on boxes and masks with real Keras, with given numbers instead
// of random ones.
func TestKerasBoxesAndMasks(t *testing.T) {
	classes := map[string]int{}
	for _, c := range vectors.Load(t, "bounding_boxes").Cases {
		if c.Class == "" {
			continue
		}
		classes[c.Class]++
		t.Run(c.Name, func(t *testing.T) {
			l, err := layers.New(c.Class)
			require.NoError(t, err)
			require.NoError(t, config.Decode(c.Config, l))
			checkConfig(t, l, c.Config)
			inputs := map[string]opstest.Array{}
			for _, a := range c.Inputs {
				dtype, err := ir.ParseDType(a.DType)
				require.NoError(t, err)
				inputs[a.Name] = opstest.Array{Shape: a.Shape, DType: dtype, F: a.Data}
			}
			results := moved(t, l, inputs)
			for _, want := range c.Outputs {
				got, ok := results[want.Name]
				require.True(t, ok, want.Name)
				if want.Name != "masks" { // Keras casts some masks to the compute type
					assert.Equal(t, want.DType, got.DType.String(), want.Name)
				}
				c.Close(t, want.Name, got.F, got.Shape, want)
			}
		})
	}
	assert.Len(t, classes, 11)
}

// boxLayers are layers that move boxes, with numbers for two images of 24 × 40 cells.
func boxLayers(format layers.BoundingBoxFormat) map[string]struct {
	layer   layers.Layer
	numbers map[string]opstest.Array
} {
	type row = struct {
		layer   layers.Layer
		numbers map[string]opstest.Array
	}
	per := func(shape []int, values ...float64) opstest.Array {
		return opstest.Array{Shape: append([]int{2}, shape...), DType: ir.Float32, F: values}
	}
	whole := func(v float64) opstest.Array { return opstest.Array{Shape: []int{}, DType: ir.Int32, F: []float64{v}} }
	whether := opstest.Bools([]int{2}, 1, 1)
	rows := map[string]row{}
	for _, mode := range []string{"horizontal", "vertical", "horizontal_and_vertical"} {
		rows["flip "+mode] = row{&layers.RandomFlip{Mode: mode, BoundingBoxFormat: format}, map[string]opstest.Array{"flips": whether}}
	}
	rows["crop"] = row{&layers.RandomCrop{Height: 16, Width: 30, BoundingBoxFormat: format}, map[string]opstest.Array{"h_start": whole(3), "w_start": whole(8)}}
	rows["centre crop"] = row{&layers.CenterCrop{Height: 14, Width: 30, BoundingBoxFormat: format}, nil}
	rows["enlarged crop"] = row{&layers.CenterCrop{Height: 60, Width: 45, BoundingBoxFormat: format}, nil}
	rows["resizing"] = row{&layers.Resizing{Height: 50, Width: 31, Interpolation: "nearest", BoundingBoxFormat: format}, nil}
	rows["resizing, padded"] = row{&layers.Resizing{Height: 50, Width: 31, PadToAspectRatio: true, Interpolation: "nearest", BoundingBoxFormat: format}, nil}
	rows["resizing, cropped"] = row{&layers.Resizing{Height: 50, Width: 60, CropToAspectRatio: true, Interpolation: "nearest", BoundingBoxFormat: format}, nil}
	rows["translation"] = row{&layers.RandomTranslation{HeightFactor: []float64{1}, WidthFactor: []float64{1}, FillMode: "constant", BoundingBoxFormat: format}, map[string]opstest.Array{"translations": per([]int{2}, 7, -4, -9, 5)}}
	rows["rotation"] = row{&layers.RandomRotation{Factor: []float64{1}, FillMode: "constant", BoundingBoxFormat: format}, map[string]opstest.Array{"angle": per(nil, 25, -160)}}
	rows["zoom"] = row{&layers.RandomZoom{HeightFactor: []float64{0.5}, WidthFactor: []float64{0.5}, FillMode: "constant", BoundingBoxFormat: format}, map[string]opstest.Array{"height_zoom": per([]int{1}, 0.75, 1.5), "width_zoom": per([]int{1}, 1.25, 0.875)}}
	rows["shear"] = row{&layers.RandomShear{XFactor: []float64{1}, YFactor: []float64{1}, FillMode: "constant", BoundingBoxFormat: format}, map[string]opstest.Array{"shear_factor": per([]int{2}, 0.4, 0.25, -0.5, -0.125)}}
	corner := []float64{0, 0, 39, 0, 0, 23, 39, 23}
	moved := []float64{0, 0, 33, 0, 0, 27, 43, 21}
	rows["perspective"] = row{&layers.RandomPerspective{BoundingBoxFormat: format}, map[string]opstest.Array{
		"apply_perspective": whether, "start_points": per([]int{4, 2}, append(corner, corner...)...), "end_points": per([]int{4, 2}, append(moved, moved...)...)}}
	return rows
}

// TestBoxesOfChosenSteps: RandAugment moves boxes like the layers that it chose, one after the other, in whichever
// order they were drawn.
func TestBoxesOfChosenSteps(t *testing.T) {
	_, boxes, labels, _ := scene()
	images := opstest.Array{Shape: []int{2, 24, 40, 3}, DType: ir.Float32, F: make([]float64, 2*24*40*3)}
	rows := boxLayers("xywh")
	per := func(shape []int, values ...float64) opstest.Array {
		return opstest.Array{Shape: append([]int{2}, shape...), DType: ir.Float32, F: values}
	}
	steps := map[string]opstest.Array{}
	for name, numbers := range map[string]map[string]opstest.Array{
		"random_shear": rows["shear"].numbers, "random_rotation": rows["rotation"].numbers, "random_translation": rows["translation"].numbers,
		"random_brightness":         {"rgb_delta": per([]int{1, 1, 1}, 0, 0)},
		"random_color_degeneration": {"factor": per([]int{1, 1, 1}, 0, 0)}, "random_contrast": {"contrast_factor": per([]int{1, 1, 1}, 1, 1)}, "random_sharpness": {"factor": per(nil, 0, 0)},
		"random_posterization": {"shift_factor": opstest.Ints([]int{2}, 0, 0).As(ir.Uint8)}, "solarization": {"additions": per([]int{1, 1, 1}, 0, 0), "thresholds": per([]int{1, 1, 1}, 0, 0)},
	} {
		for key, v := range numbers {
			steps[name+"/"+key] = v
		}
	}
	layerNames := []string{"shear", "translation", "rotation"}
	boxes = converted(t, boxes, boundingboxes.XYXY, boundingboxes.XYWH, 24, 40)
	for _, order := range [][]float64{{2, 0, 1}, {0, 1, 2}, {1, 2, 0}, {5, 1, 10}} {
		want := map[string]opstest.Array{"x": images, "boxes": boxes, "box_labels": labels}
		inputs := map[string]opstest.Array{"x": images, "boxes": boxes, "box_labels": labels, "t/layer_idxes": opstest.Ints([]int{3}, order...)}
		for key, v := range steps {
			inputs["t/"+key] = v
		}
		for _, k := range order {
			if int(k) >= len(layerNames) {
				continue // color layers
			}
			row := rows[layerNames[int(k)]]
			given := map[string]opstest.Array{"x": images, "boxes": want["boxes"], "box_labels": want["box_labels"]}
			for key, v := range row.numbers {
				given["t/"+key] = v
			}
			want = moved(t, row.layer, given)
		}
		got := moved(t, &layers.RandAugment{NumOps: 3, BoundingBoxFormat: "xywh"}, inputs)
		for i, label := range want["box_labels"].F {
			assert.Equal(t, label, got["box_labels"].F[i], "%v", order)
			for k := range 4 {
				if label != -1 {
					assert.InDelta(t, want["boxes"].F[4*i+k], got["boxes"].F[4*i+k], 1e-4, "%v", order)
				}
			}
		}
	}
}

// scene has two objects in each of two images of 24 × 40 cells, rectangles that have the numbers 1 and 2 in the masks,
// and their boxes.
func scene() (images, boxes, labels, masks opstest.Array) {
	sides := [][4]int{{9, 6, 17, 12}, {20, 11, 31, 19}}
	images, masks = opstest.Array{Shape: []int{2, 24, 40, 3}, DType: ir.Float32, F: make([]float64, 2*24*40*3)}, opstest.Array{Shape: []int{2, 24, 40, 1}, DType: ir.Int32, F: make([]float64, 2*24*40)}
	boxes, labels = opstest.Array{Shape: []int{2, 2, 4}, DType: ir.Float32}, opstest.Ints([]int{2, 2}, 1, 2, 1, 2)
	for i := range 2 {
		for k, s := range sides {
			for v := s[1]; v < s[3]; v++ {
				for u := s[0]; u < s[2]; u++ {
					masks.F[(i*24+v)*40+u] = float64(k + 1)
				}
			}
			for _, side := range s {
				boxes.F = append(boxes.F, float64(side))
			}
		}
	}
	return images, boxes, labels, masks
}

// TestBoxesStayAroundObjects: a layer that moves an image moves its boxes with their objects, which the masks show. The
// tolerance is one and a half cells: a corner between cells, and half a cell by which Keras's boxes, which count
// borders of cells, and its maps, which count centers, differ.
func TestBoxesStayAroundObjects(t *testing.T) {
	images, boxes, labels, masks := scene()
	for name, row := range boxLayers("xyxy") {
		t.Run(name, func(t *testing.T) {
			inputs := map[string]opstest.Array{"x": images, "boxes": boxes, "box_labels": labels, "masks": masks}
			for key, v := range row.numbers {
				inputs["t/"+key] = v
			}
			got := moved(t, row.layer, inputs)
			height, width := got["masks"].Shape[1], got["masks"].Shape[2]
			require.Equal(t, got["x"].Shape[1:3], got["masks"].Shape[1:3])
			slack := 1.5 * math.Max(1, math.Max(float64(height)/24, float64(width)/40)) // in cells of the original image
			if name == "rotation" {
				slack = 2 // the corner of a rotated rectangle is smaller than a cell
			}
			for i := range 2 {
				for k := range 2 {
					want := extent(got["masks"], i, float64(k+1))
					box, label := got["boxes"].F[(2*i+k)*4:][:4], got["box_labels"].F[2*i+k]
					if want[2] <= want[0] {
						assert.Truef(t, label == -1 || (box[2]-box[0])*(box[3]-box[1]) < slack*slack, "image %d, object %d is gone, its box is %v", i, k, box)
						continue
					}
					assert.EqualValues(t, k+1, label)
					for side := range 4 {
						assert.InDeltaf(t, want[side], box[side], slack, "image %d, object %d: the object is at %v, its box at %v", i, k, want, box)
					}
				}
			}
		})
	}
}

// extent is the box around the cells of image i that have a value.
func extent(masks opstest.Array, i int, value float64) [4]float64 {
	height, width := masks.Shape[1], masks.Shape[2]
	box := [4]float64{math.Inf(1), math.Inf(1), math.Inf(-1), math.Inf(-1)}
	for v := range height {
		for u := range width {
			if masks.F[(i*height+v)*width+u] == value {
				box[0], box[1] = math.Min(box[0], float64(u)), math.Min(box[1], float64(v))
				box[2], box[3] = math.Max(box[2], float64(u+1)), math.Max(box[3], float64(v+1))
			}
		}
	}
	return box
}

// TestBoxesOfEveryFormat: layers give the same boxes in every format.
func TestBoxesOfEveryFormat(t *testing.T) {
	images, boxes, labels, _ := scene()
	plain := boxLayers("xyxy")
	for _, format := range boundingboxes.Formats() {
		for name, row := range boxLayers(format) {
			t.Run(fmt.Sprint(format, " ", name), func(t *testing.T) {
				run := func(l layers.Layer, given opstest.Array) map[string]opstest.Array {
					inputs := map[string]opstest.Array{"x": images, "boxes": given, "box_labels": labels}
					for key, v := range row.numbers {
						inputs["t/"+key] = v
					}
					return moved(t, l, inputs)
				}
				want := run(plain[name].layer, boxes)
				got := run(row.layer, converted(t, boxes, boundingboxes.XYXY, format, 24, 40))
				back := converted(t, got["boxes"], format, boundingboxes.XYXY, float64(want["x"].Shape[1]), float64(want["x"].Shape[2]))
				assert.Equal(t, want["box_labels"].F, got["box_labels"].F)
				for i, v := range want["boxes"].F {
					require.InDelta(t, v, back.F[i], 1e-3)
				}
			})
		}
	}
}

func converted(t *testing.T, boxes opstest.Array, from, to boundingboxes.Format, height, width float64) opstest.Array {
	t.Helper()
	g := ops.NewGraph("convert")
	y := boundingboxes.ConvertFormat(g.Input("boxes", boxes.DType, boxes.Shape...), from, to, boundingboxes.Size{Height: height, Width: width})
	g.Program().AddOutput("y", y.Value())
	v, err := reference.New(boxes.DType, boxes.Shape, boxes.F...)
	require.NoError(t, err)
	out, err := reference.Run(g.Program(), []reference.Value{v})
	require.NoError(t, err)
	return opstest.Array{Shape: boxes.Shape, DType: boxes.DType, F: out[0].F}
}

// TestLabelledImagesErrors: inputs that do not fit together are errors.
func TestLabelledImagesErrors(t *testing.T) {
	images, boxes, labels := opstest.Random(1, 0, 1, 2, 6, 7, 3), opstest.Random(2, 0, 5, 2, 3, 4), opstest.Ints([]int{2, 3}, 0, 1, 2, 3, 4, 5)
	flip := func(format layers.BoundingBoxFormat) layers.Layer {
		return &layers.RandomFlip{BoundingBoxFormat: format}
	}
	for _, c := range []struct {
		layer  layers.Layer
		inputs []opstest.Array
		want   string
	}{
		{flip(""), []opstest.Array{images, boxes, labels}, `BoundingBoxFormat must be one of ["xyxy"`},
		{flip("corners"), []opstest.Array{images, boxes, labels}, `received "corners"`},
		{flip("xyxy"), []opstest.Array{images, boxes}, "received inputs of shapes [[2 6 7 3] [2 3 4]]"},
		{flip("xyxy"), []opstest.Array{images, opstest.Random(2, 0, 5, 2, 3, 5), labels}, "boxes have four numbers along their last axis, received shape [2 3 5]"},
		{flip("xyxy"), []opstest.Array{images, boxes, opstest.Ints([]int{2, 2}, 0, 1, 2, 3)}, "boxes of shape [2 3 4] come with labels of shape [2 2]; give one for each box"},
		{flip("xyxy"), []opstest.Array{images, opstest.Random(2, 0, 5, 3, 3, 4), opstest.Ints([]int{3, 1}, 1, 2, 3)}, "2 images come with a tensor of shape [3 3 4]"},
		{flip("xyxy"), []opstest.Array{images, opstest.Random(3, 0, 1, 2, 7, 6, 1)}, "images of shape [2 6 7 3] come with masks of shape [2 7 6 1], of another height or width"},
		{&layers.CutMix{BoundingBoxFormat: "xyxy"}, []opstest.Array{images, boxes, labels}, "use MixUp"},
		{&layers.RandomElasticTransform{BoundingBoxFormat: "xyxy"}, []opstest.Array{images, boxes, labels}, "omit them, or use masks"},
		{&layers.MaxNumBoundingBoxes{BoundingBoxFormat: "xyxy"}, []opstest.Array{images, boxes, labels}, "MaxNumber must be from 1 to 1048576, received 0"},
	} {
		_, err := layerCall{layer: c.layer, training: true, inputs: c.inputs}.try()
		assert.ErrorContains(t, err, c.want)
	}
}

// TestLabelledImagesOfOneImage: one image without a batch axis, and inputs in the order of Keras's sorted dict, give
// the same as a batch of one.
func TestLabelledImagesOfOneImage(t *testing.T) {
	images, boxes, labels, masks := scene()
	first := func(a opstest.Array) opstest.Array {
		return opstest.Array{Shape: a.Shape[1:], DType: a.DType, F: a.F[:len(a.F)/2]}
	}
	batch := func(a opstest.Array) opstest.Array {
		a = first(a)
		a.Shape = append([]int{1}, a.Shape...)
		return a
	}
	class, classes := opstest.Ints([]int{1}, 3), opstest.Ints([]int{1, 1}, 3)
	for _, l := range []func() layers.Layer{
		func() layers.Layer {
			return &layers.RandomRotation{Factor: []float64{0.1, 0.1}, BoundingBoxFormat: "xyxy"}
		},
		func() layers.Layer { return &layers.CenterCrop{Height: 9, Width: 20, BoundingBoxFormat: "xyxy"} },
		func() layers.Layer { return &layers.Resizing{Height: 9, Width: 20, BoundingBoxFormat: "xyxy"} },
		func() layers.Layer { return &layers.MaxNumBoundingBoxes{MaxNumber: 5, BoundingBoxFormat: "xyxy"} },
		func() layers.Layer { return &layers.AutoContrast{BoundingBoxFormat: "xyxy"} },
	} {
		run := func(inputs ...opstest.Array) []opstest.Array {
			a := layerCall{layer: l(), training: true, inputs: inputs, random: [4]float64{1, 2, 3, 0}}.run(t)
			return a.outputs
		}
		want := run(batch(images), batch(boxes), batch(labels), classes, batch(masks))
		got := run(first(images), first(boxes), first(labels), class, first(masks))
		sorted := run(batch(boxes), batch(labels), batch(images), classes, batch(masks))
		for i := range want {
			assert.Equal(t, want[i].Shape[1:], got[i].Shape, "%T", l())
			assert.InDeltaSlice(t, want[i].F, got[i].F, 1e-5, "%T", l())
			assert.Equal(t, want[i].F, sorted[[]int{2, 0, 1, 3, 4}[i]].F, "%T", l())
		}
	}
}
