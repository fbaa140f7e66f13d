package layers

import (
	"encoding/json"
	"math"

	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/ir/dim"
)

// ContrastLimitedAdaptiveHistogramEqualization (CLAHE) equalizes the values of each channel with the histograms of the
// tiles around each cell, in training and in inference. Images are converted from ValueRange to 0 ... 255 and back, and
// divided into TileGridSize tiles of equal size; the edges are mirrored if necessary. For each tile with N cells:
//
//	h'[v] = min(h[v], limit) + Σ_w max(h[w] - limit, 0) / 256     limit = ClipLimit·N/256
//	m[v]  = 255·(cdf[v] - cdf[0]) / (N - cdf[0]), from 0 to 255    cdf the running sum of h'
//
// with h[v] the number of cells whose value, cut to an integer, is v. A cell of value v gets m[v], interpolated
// bilinearly between the four tiles whose centres surround it (fewer at the edges).
//
// Input shape: (batch, height, width, channels), or one image without the batch; with DataFormat ChannelsFirst the
// channels come before the height. Output shape: that of the input. Floats have the compute type; integers keep their
// type. A mask does not pass through. The gradient is zero.
type ContrastLimitedAdaptiveHistogramEqualization struct {
	Base

	Name   string `keras:"name"`
	DType  string `keras:"dtype"`         // policy name; "" is the model's
	Frozen bool   `keras:"trainable,not"` // not trained

	ValueRange        []float64         `keras:"value_range,default=[0,255]"`       // smallest and largest value of a channel; nil is {0, 255}
	ClipLimit         float64           `keras:"clip_limit,default=4"`              // of the histograms, see above; 0 means 4, negative means no limit
	TileGridSize      []int             `keras:"tile_grid_size,default=[8,8]"`      // tiles down and across; nil is {8, 8}
	DataFormat        DataFormat        `keras:"data_format,default=channels_last"` // ChannelsLast or ChannelsFirst; "" is ChannelsLast
	BoundingBoxFormat BoundingBoxFormat `keras:"bounding_box_format,omitempty"`     // of boxes that come with the images, see [LabelledImages]
}

// maxTiles bounds the number of tiles along one axis.
const maxTiles = 1 << 12

// levels is the number of values in a histogram.
const levels = 256

// Forward computes the layer.
func (l *ContrastLimitedAdaptiveHistogramEqualization) Forward(c *Context, in []*ops.Tensor) []*ops.Tensor {
	t := labelledInputs(l, in)
	t.castBoxes()
	if t.Images.DType().IsFloat() {
		t.Images = ops.Cast(t.Images, c.ComputeDType())
	}
	t.Images = l.equalized(c, t.Images)
	return t.tensors()
}

func (l *ContrastLimitedAdaptiveHistogramEqualization) equalized(c *Context, images *ops.Tensor) *ops.Tensor {
	axes, _ := imageAxes(images, l.DataFormat)
	low, high := valueRange(c.Graph(), l.ValueRange)
	grid := l.TileGridSize
	if grid == nil {
		grid = []int{8, 8}
	}
	if len(grid) != 2 || min(grid[0], grid[1]) < 1 || max(grid[0], grid[1]) > maxTiles {
		ops.Failf(c.Graph(), "TileGridSize must be two numbers from 1 to %d, received %v", maxTiles, l.TileGridSize)
	}
	if !dim.Known(images.Dim(axes[0])) || !dim.Known(images.Dim(axes[1])) {
		c.Graph().OnlyShapes() // the tiles depend on the size
		return images
	}
	x, restore := batchImages(images, l.DataFormat)
	if dim.Known(x.Shape().Size()) && x.Shape().Size() == 0 {
		return images
	}
	tiles := tiling{rows: tilesAlong(x.Dim(1), grid[0]), columns: tilesAlong(x.Dim(2), grid[1])}
	y := tiles.equalize(ops.Cast(rescale(atLeastFloat32(x), low, high, 0, levels-1), ir.Float32), l.limit(tiles.cells()))
	return restore(ops.Cast(rescale(y, 0, levels-1, low, high), images.DType()))
}

// limit returns the largest number of cells that a histogram counts for one value.
//
//dim:known images of open size are left as they are
func (l *ContrastLimitedAdaptiveHistogramEqualization) limit(cells int) float64 {
	switch {
	case l.ClipLimit == 0:
		return 4 * float64(cells) / levels
	case l.ClipLimit < 0:
		return math.Inf(1)
	}
	return l.ClipLimit * float64(cells) / levels
}

// tiles are those along one axis.
type tiles struct {
	count, size  int
	source, tile []float64 // of each cell of all tiles: the cell of the image, and the tile
	first, next  []float64 // of each cell of the image: the tiles around it
	weight       []float64 // of next
}

// tilesAlong divides n cells.
//
//dim:known the sizes of images
func tilesAlong(n, count int) tiles {
	t := tiles{count: count, size: (n + count - 1) / count}
	for i := range t.size * count {
		mirrored := i % (2 * n)
		if mirrored >= n {
			mirrored = 2*n - 1 - mirrored
		}
		t.source, t.tile = append(t.source, float64(mirrored)), append(t.tile, float64(i/t.size))
	}
	size := float32(t.size)
	last := float64(count - 1)
	for i := range n {
		at := (float32(i)-size/2)/size + 1 // tile 1 is the first: at the edges it stands for a tile before it, too
		low := float32(math.Floor(float64(at)))
		t.first = append(t.first, min(max(float64(low)-1, 0), last))
		t.next = append(t.next, min(max(float64(low), 0), last))
		t.weight = append(t.weight, float64(at-low))
	}
	return t
}

// tiling divides images.
type tiling struct{ rows, columns tiles }

// cells is the number of cells of a tile.
func (t tiling) cells() int { return t.rows.size * t.columns.size } //dim:known the sizes of images

// equalize computes the layer on images (batch, height, width, channels) of values from 0 to 255.
func (t tiling) equalize(x *ops.Tensor, limit float64) *ops.Tensor {
	values := ops.Clip(ops.Cast(x, ir.Int32), 0, levels-1)
	table := ops.Ravel(t.tables(values, limit))
	corner := func(down, across []float64) *ops.Tensor {
		place := t.place(x, vector(x, ir.Int32, 1, down), vector(x, ir.Int32, 2, across))
		return ops.Take(table, ops.Add(place, values), 0)
	}
	wx := vector(x, ir.Float32, 2, t.columns.weight)
	wy := vector(x, ir.Float32, 1, t.rows.weight)
	rest := func(w *ops.Tensor) *ops.Tensor { return ops.Subtract(ops.Scalar(w, 1), w) }
	mix := func(a, b, w *ops.Tensor) *ops.Tensor {
		return ops.Add(ops.Multiply(a, rest(w)), ops.Multiply(b, w))
	}
	top := mix(corner(t.rows.first, t.columns.first), corner(t.rows.first, t.columns.next), wx)
	bottom := mix(corner(t.rows.next, t.columns.first), corner(t.rows.next, t.columns.next), wx)
	return mix(top, bottom, wy)
}

// place is where the table of a tile begins, for each image and channel of x: ((image·rows + row)·columns +
// column)·channels + channel.
func (t tiling) place(x, row, column *ops.Tensor) *ops.Tensor {
	batch, channels := x.Dim(0), x.Dim(-1)
	image := ops.Iota(x, ir.Int32, 0, batch, 1, 1, 1)
	channel := ops.Iota(x, ir.Int32, 3, 1, 1, 1, channels)
	times := func(a *ops.Tensor, n int, b *ops.Tensor) *ops.Tensor {
		return ops.Add(ops.Multiply(a, ops.Length(a, ir.Int32, n)), b)
	}
	y := times(times(times(image, t.rows.count, row), t.columns.count, column), channels, channel)
	return ops.MultiplyScalar(y, levels)
}

// tables are the new values for the old ones, (batch · rows · columns · channels, 256).
func (t tiling) tables(values *ops.Tensor, limit float64) *ops.Tensor {
	batch, channels := values.Dim(0), values.Dim(-1)
	whole := ops.Take(ops.Take(values, ops.Ravel(vector(values, ir.Int32, 1, t.rows.source)), 1), ops.Ravel(vector(values, ir.Int32, 2, t.columns.source)), 2)
	segment := ops.Ravel(ops.Add(t.place(values, vector(values, ir.Int32, 1, t.rows.tile), vector(values, ir.Int32, 2, t.columns.tile)), whole))
	n := dim.Mul(dim.Mul(batch, channels), t.rows.count*t.columns.count) //dim:known the numbers of tiles
	counts := ops.SegmentSum(ops.Cast(ops.OnesLike(segment), ir.Float32), segment, dim.Mul(n, levels))
	counts = ops.Reshape(counts, n, levels)
	if !math.IsInf(limit, 1) {
		clipped := ops.Clip(counts, 0, float64(float32(limit)))
		excess := ops.Sum(ops.Subtract(counts, clipped), 1)
		counts = ops.Add(clipped, ops.ExpandDims(ops.DivideScalar(excess, levels), 1))
	}
	cdf := ops.Cumsum(counts, 1)
	lowest := ops.ExpandDims(ops.Min(cdf, 1), 1)
	above := ops.MultiplyScalar(ops.Subtract(cdf, lowest), levels-1)
	rest := ops.Subtract(ops.Scalar(lowest, float64(t.cells())), lowest) //dim:known
	rest = ops.Where(ops.CompareScalar(ir.Eq, rest, 0), ops.OnesLike(rest), rest)
	return ops.Clip(ops.Divide(above, rest), 0, levels-1)
}

// vector holds numbers along one axis of images.
func vector(x *ops.Tensor, dtype ir.DType, axis int, values []float64) *ops.Tensor {
	shape := ir.Shape{1, 1, 1, 1}
	shape[axis] = len(values)
	return ops.Constant(x, dtype, shape, values)
}

// MigrateConfig keeps a limit of 0, which means no limit in Keras.
func (l *ContrastLimitedAdaptiveHistogramEqualization) MigrateConfig(keys map[string]json.RawMessage) error {
	var limit float64
	if raw, ok := keys["clip_limit"]; ok && json.Unmarshal(raw, &limit) == nil && limit == 0 {
		keys["clip_limit"] = json.RawMessage("-1")
	}
	return nil
}

func (l *ContrastLimitedAdaptiveHistogramEqualization) boxFormat() (boxes BoundingBoxFormat, images DataFormat) {
	return l.BoundingBoxFormat, l.DataFormat
}

func init() { Register[ContrastLimitedAdaptiveHistogramEqualization]() }
