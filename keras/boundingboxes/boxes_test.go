package boundingboxes_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/internal/vectors"
	"github.com/gokeras/gokeras/keras/boundingboxes"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/reference"
)

// arguments are the arguments of Keras's functions that are not arrays.
type arguments struct {
	Source, Target boundingboxes.Format
	Format         boundingboxes.Format `json:"bounding_box_format"`
	AnchorFormat   boundingboxes.Format `json:"anchor_format"`
	BoxFormat      boundingboxes.Format `json:"box_format"`
	EncodingFormat boundingboxes.Format `json:"encoding_format"`
	EncodedFormat  boundingboxes.Format `json:"encoded_format"`
	Variance       []float64
	ImageShape     []float64 `json:"image_shape"`
	Top, Left      float64
	Height, Width  float64
	CenterX        *float64 `json:"center_x"`
	CenterY        *float64 `json:"center_y"`
	UseMasking     bool     `json:"use_masking"`
	MaskValue      *float64 `json:"mask_val"`
}

func (a arguments) size() boundingboxes.Size {
	if a.ImageShape != nil {
		return boundingboxes.Size{Height: a.ImageShape[0], Width: a.ImageShape[1]}
	}
	return boundingboxes.Size{Height: a.Height, Width: a.Width}
}

func (a arguments) deltas() boundingboxes.Deltas {
	return boundingboxes.Deltas{AnchorFormat: a.AnchorFormat, BoxFormat: a.BoxFormat, Encoding: a.EncodingFormat + a.EncodedFormat, Variance: a.Variance, Size: a.size()}
}

// call computes the function of a case.
func (a arguments) call(function string, x map[string]*ops.Tensor) (output, labels *ops.Tensor) {
	switch function {
	case "convert_format":
		return boundingboxes.ConvertFormat(x["boxes"], a.Source, a.Target, a.size()), nil
	case "clip_to_image_size":
		return boundingboxes.ClipToImageSize(x["boxes"], x["labels"], a.Format, a.size())
	case "crop":
		return boundingboxes.Crop(x["boxes"], a.Top, a.Left, a.size()), nil
	case "pad":
		return boundingboxes.Pad(x["boxes"], a.Top, a.Left), nil
	case "affine_transform":
		return boundingboxes.AffineTransform(x["boxes"], boundingboxes.Affine{
			Angle: x["angle"], TranslateX: x["translate_x"], TranslateY: x["translate_y"], Scale: x["scale"], ShearX: x["shear_x"], ShearY: x["shear_y"],
			CenterX: a.CenterX, CenterY: a.CenterY,
		}, a.size()), nil
	case "compute_iou":
		return boundingboxes.ComputeIoU(x["boxes1"], x["boxes2"], a.Format, boundingboxes.Overlap{Size: a.size(), UseMasking: a.UseMasking, MaskValue: a.MaskValue}), nil
	case "compute_ciou":
		return boundingboxes.ComputeCIoU(x["boxes1"], x["boxes2"], a.Format, a.size()), nil
	case "encode_box_to_deltas":
		return boundingboxes.EncodeBoxToDeltas(x["anchors"], x["boxes"], a.deltas()), nil
	case "decode_deltas_to_boxes":
		return boundingboxes.DecodeDeltasToBoxes(x["anchors"], x["boxes_delta"], a.deltas()), nil
	}
	return nil, nil
}

// TestKerasFunctions compares every function with keras.utils.bounding_boxes.
func TestKerasFunctions(t *testing.T) {
	seen := map[string]int{}
	for _, c := range vectors.Load(t, "bounding_boxes").Cases {
		if c.Class != "" {
			continue
		}
		t.Run(c.Name, func(t *testing.T) {
			var extra struct {
				Function  string
				Arguments arguments
			}
			require.NoError(t, json.Unmarshal(c.Extra, &extra))
			seen[extra.Function]++
			g, inputs := ops.NewGraph("boxes"), map[string]*ops.Tensor{}
			var given []reference.Value
			for _, a := range c.Inputs {
				dtype, err := ir.ParseDType(a.DType)
				require.NoError(t, err)
				v, err := reference.New(dtype, a.Shape, a.Data...)
				require.NoError(t, err)
				given = append(given, v)
				inputs[a.Name] = g.Input(a.Name, dtype, a.Shape...)
			}
			output, labels := extra.Arguments.call(extra.Function, inputs)
			require.NotNil(t, output)
			results := map[string]*ops.Tensor{"output": output, "labels": labels}
			for _, want := range c.Outputs {
				assert.Equal(t, want.DType, results[want.Name].DType().String())
				g.Program().AddOutput(want.Name, ops.In(g, results[want.Name]))
			}
			out, err := (reference.Interpreter{Round: true}).Run(g.Program(), given)
			require.NoError(t, err)
			for i, want := range c.Outputs {
				values := make([]float64, out[i].Type.Shape.Size())
				for j := range values {
					values[j] = out[i].At(j)
				}
				c.Close(t, want.Name, values, out[i].Type.Shape, want)
			}
		})
	}
	assert.Len(t, seen, 9)
}

// TestDeltasLeadBack: decoding the deltas of anchors and boxes gives the boxes, in every format.
func TestDeltasLeadBack(t *testing.T) {
	for _, f := range boundingboxes.Formats() {
		for _, anchors := range boundingboxes.Formats() {
			d := boundingboxes.Deltas{AnchorFormat: anchors, BoxFormat: f, Variance: []float64{0.1, 0.2, 0.3, 0.4}, Size: boundingboxes.Size{Height: 9, Width: 14}}
			g := ops.NewGraph("deltas")
			boxes, of := boxes(g, 1, 2, 6, 7, 3, 3, 9, 5), boxes(g, 0, 1, 5, 8, 4, 2, 11, 6)
			given := boundingboxes.ConvertFormat(boxes, boundingboxes.XYXY, f, d.Size)
			back := boundingboxes.DecodeDeltasToBoxes(boundingboxes.ConvertFormat(of, boundingboxes.XYXY, anchors, d.Size),
				boundingboxes.EncodeBoxToDeltas(boundingboxes.ConvertFormat(of, boundingboxes.XYXY, anchors, d.Size), given, d), d)
			assert.InDeltaSlice(t, values(t, g, given), values(t, g, back), 1e-12, "%s, %s", f, anchors)
		}
	}
}

// TestRelativeOverlap: the overlaps of relative boxes equal those of the same boxes in pixels; Keras refuses relative
// formats in compute_ciou.
func TestRelativeOverlap(t *testing.T) {
	size := boundingboxes.Size{Height: 9, Width: 14}
	g := ops.NewGraph("overlap")
	a, b := boxes(g, 1, 2, 6, 7, 3, 3, 9, 5), boxes(g, 0, 1, 5, 8, 4, 2, 11, 6)
	want := values(t, g, boundingboxes.ComputeCIoU(a, b, boundingboxes.XYXY, boundingboxes.Size{}))
	for _, f := range boundingboxes.Formats() {
		in := func(x *ops.Tensor) *ops.Tensor { return boundingboxes.ConvertFormat(x, boundingboxes.XYXY, f, size) }
		assert.InDeltaSlice(t, want, values(t, g, boundingboxes.ComputeCIoU(in(a), in(b), f, size)), 1e-12, "%s", f)
	}
}

// TestMistakes: each error says what was received and what was expected.
func TestMistakes(t *testing.T) {
	size := boundingboxes.Size{Height: 4, Width: 5}
	for want, call := range map[string]func(g *ops.Graph, b *ops.Tensor){
		`unknown format of boxes "xyx"; use one of ["xyxy"`: func(_ *ops.Graph, b *ops.Tensor) { boundingboxes.ConvertFormat(b, "xyx", boundingboxes.XYWH, size) },
		"which must be positive; received 0 and 0": func(_ *ops.Graph, b *ops.Tensor) {
			boundingboxes.ConvertFormat(b, boundingboxes.XYXY, boundingboxes.RelXYWH, boundingboxes.Size{})
		},
		"four numbers along their last axis, received shape [2 3]": func(g *ops.Graph, _ *ops.Tensor) { boundingboxes.Pad(ops.Zeros(g, ir.Float32, 2, 3), 1, 1) },
		`in the formats "xyxy" and "rel_xyxy", received "xywh"`:    func(_ *ops.Graph, b *ops.Tensor) { boundingboxes.ClipToImageSize(b, nil, boundingboxes.XYWH, size) },
		"must be positive, received 0 and 3":                       func(_ *ops.Graph, b *ops.Tensor) { boundingboxes.Crop(b, 0, 0, boundingboxes.Size{Width: 3}) },
		"expected boxes (batch, boxes, 4), received shape [2 4]":   func(_ *ops.Graph, b *ops.Tensor) { boundingboxes.AffineTransform(b, boundingboxes.Affine{}, size) },
		"expected boxes (boxes, 4) or (batch, boxes, 4)": func(_ *ops.Graph, b *ops.Tensor) {
			boundingboxes.ComputeIoU(ops.Index(b, 0, 0), b, boundingboxes.XYXY, boundingboxes.Overlap{})
		},
		"Variance must have four numbers, received [1]": func(_ *ops.Graph, b *ops.Tensor) {
			boundingboxes.EncodeBoxToDeltas(b, b, boundingboxes.Deltas{AnchorFormat: "xyxy", BoxFormat: "xyxy", Variance: []float64{1}})
		},
		`Encoding must be "center_xywh" or "center_yxhw"`: func(_ *ops.Graph, b *ops.Tensor) {
			boundingboxes.DecodeDeltasToBoxes(b, b, boundingboxes.Deltas{AnchorFormat: "xyxy", BoxFormat: "xyxy", Encoding: "xyxy"})
		},
		"labels of boxes have the axes of the boxes but the last": func(g *ops.Graph, b *ops.Tensor) {
			boundingboxes.ClipToImageSize(b, ops.Zeros(g, ir.Int32), boundingboxes.XYXY, size)
		},
	} {
		var err error
		func() {
			defer ops.Catch(&err)
			g := ops.NewGraph("mistake")
			call(g, boxes(g, 0, 0, 1, 1, 2, 2, 3, 3))
		}()
		assert.ErrorContains(t, err, want)
	}
}

func boxes(g *ops.Graph, v ...float64) *ops.Tensor {
	return ops.Constant(g, ir.Float64, ir.Shape{len(v) / 4, 4}, v)
}

func values(t *testing.T, g *ops.Graph, y *ops.Tensor) []float64 {
	t.Helper()
	p := g.Program()
	p.AddOutput("y", y.Value())
	out, err := reference.Run(p, nil)
	require.NoError(t, err)
	return out[len(out)-1].F
}
