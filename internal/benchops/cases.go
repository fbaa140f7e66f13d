package main

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers"
)

// argument is one argument of a call: a tensor, a list of tensors, or a value of JSON.
type argument struct {
	Tensors  []tensor `json:"tensors,omitempty"`
	List     bool     `json:"list,omitempty"`
	Definite bool     `json:"definite,omitempty"` // the matrices are made symmetric and positive definite
	Value    any      `json:"value,omitempty"`
}

// tensor is an operand. Floats are drawn between Low and High, integers from Low to below High.
type tensor struct {
	DType string  `json:"dtype"`
	Shape []int   `json:"shape"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
}

// benchmark is a call of a function of keras.ops.
type benchmark struct {
	Name      string         `json:"name"`
	Function  string         `json:"function"`
	Arguments []argument     `json:"arguments"`
	Layer     string         `json:"layer,omitempty"` // of keras.layers, in place of a function
	Config    map[string]any `json:"config,omitempty"`
	Training  bool           `json:"training,omitempty"` // of layers: as in training
}

// elements is the number of elements of a shape.
func elements(shape []int) int {
	n := 1
	for _, size := range shape {
		n *= size
	}
	return n
}

func floats(shape ...int) tensor { return tensor{"float32", shape, -0.95, 0.95} }
func ints(shape ...int) tensor   { return tensor{"int32", shape, 0, 100} }
func one(t tensor) argument      { return argument{Tensors: []tensor{t}} }
func value(v any) argument       { return argument{Value: v} }

// shape says what the operands of a function look like, for a number of elements.
type shape func(n int) []argument

// rows is a matrix of n elements with rows of 256.
func rows(n int) tensor { return floats(n/256, 256) }

// images are of 32 x 32 pixels with 16 channels.
func images(n int) tensor { return floats(max(n/(32*32*16), 1), 32, 32, 16) }

func on(t func(n int) tensor, more ...argument) shape {
	return func(n int) []argument { return append([]argument{one(t(n))}, more...) }
}

// square is a batch of matrices of 16 x 16.
func square(n int) tensor { return floats(max(n/256, 1), 16, 16) }

func whole(n int) tensor { return ints(n/256, 256) }

func both(t func(n int) tensor) shape {
	return func(n int) []argument { return []argument{one(t(n)), one(t(n))} }
}

func lists(n int) []argument {
	return []argument{{Tensors: []tensor{rows(n / 2), rows(n / 2)}, List: true}}
}

// special holds calls of functions whose required arguments are not all matrices of floats.
var special = map[string]shape{
	"bitwise_and": both(whole), "bitwise_or": both(whole), "bitwise_xor": both(whole), "bitwise_invert": on(whole), "bitwise_not": on(whole),
	"bitwise_left_shift": both(whole), "bitwise_right_shift": both(whole), "left_shift": both(whole), "right_shift": both(whole),
	"concatenate": func(n int) []argument { return append(lists(n), value(-1)) }, "dstack": lists, "hstack": lists, "vstack": lists, "stack": lists,
	"broadcast_to": func(n int) []argument {
		return []argument{one(floats(1, 256)), value([]int{n / 256, 256})}
	},
	"cast": on(rows, value("int32")), "saturate_cast": on(rows, value("int32")), "clip": on(rows, value(0.2), value(0.7)),
	"moveaxis": on(images, value(3), value(1)), "swapaxes": on(images, value(1), value(3)),
	"transpose": on(images, value([]int{0, 3, 1, 2})), "one_hot": func(n int) []argument { return []argument{one(ints(n / 128)), value(128)} },
	"pad": on(images, value([][]int{{0, 0}, {1, 1}, {1, 1}, {0, 0}})), "repeat": on(rows, value(2), value(1)), "tile": on(rows, value([]int{1, 2})),
	"roll": on(rows, value(3), value(1)), "softmax": on(rows), "full_like": on(rows, value(3.0)), "threshold": on(rows, value(0.3), value(0.1)),
	"take": func(n int) []argument {
		return []argument{one(floats(1000, 64)), one(tensor{"int32", []int{n / 64}, 0, 1000}), value(0)}
	},
	"take_along_axis": func(n int) []argument {
		return []argument{one(rows(n)), one(tensor{"int32", []int{n / 256, 256}, 0, 256}), value(1)}
	},
	"top_k": on(rows, value(8)), "split": on(rows, value(4), value(1)), "array_split": on(rows, value(4), value(1)), "hsplit": on(rows, value(4)),
	"vsplit": on(rows, value(4)), "dsplit": on(images, value(4)), "moments": on(rows, value([]int{0})), "max_pool": on(images, value(2), value(2)),
	"average_pool": on(images, value(2), value(2)), "adaptive_average_pool": on(images, value([]int{8, 8})), "adaptive_max_pool": on(images, value([]int{8, 8})),
	"resize": on(images, value([]int{64, 64})), "conv": on(images, one(floats(3, 3, 16, 16))), "depthwise_conv": on(images, one(floats(3, 3, 16, 1))),
	"conv_transpose": on(images, one(floats(3, 3, 16, 16))),
	"separable_conv": on(images, one(floats(3, 3, 16, 1)), one(floats(1, 1, 16, 16))),
	"matmul":         func(n int) []argument { return []argument{one(rows(n)), one(floats(256, 256))} },
	"dot":            func(n int) []argument { return []argument{one(rows(n)), one(floats(256, 256))} },
	"where": func(n int) []argument {
		return []argument{one(tensor{"bool", []int{n / 256, 256}, 0, 2}), one(rows(n)), one(rows(n))}
	},
	"det": on(square), "inv": on(square), "logdet": on(square), "slogdet": on(square), "trace": on(square), "diagonal": on(rows),
	"batch_normalization":      on(images, one(floats(16)), one(floats(16)), value(3)),
	"categorical_crossentropy": both(rows),
	"dot_product_attention": func(n int) []argument {
		q := floats(max(n/(64*4*32), 1), 64, 4, 32)
		return []argument{one(q), one(q), one(q)}
	},
	"rgb_to_grayscale": on(pictures), "rgb_to_hsv": on(pictures), "hsv_to_rgb": on(pictures), "sobel_edges": on(images), "gaussian_blur": on(images),
	"extract_patches": on(images, value(4)), "depth_to_space": on(images, value(2)), "space_to_depth": on(images, value(2)),
	"searchsorted": func(n int) []argument { return []argument{one(floats(1000)), one(floats(n))} },
	"digitize":     func(n int) []argument { return []argument{one(rows(n)), value([]float64{0.2, 0.4, 0.6, 0.8})} },
	"segment_sum":  segments, "segment_max": segments, "segment_min": segments, "segment_prod": segments,
	"gcd": both(whole), "lcm": both(whole),
	"cross":    func(n int) []argument { return []argument{one(floats(n/3, 3)), one(floats(n/3, 3))} },
	"quantile": on(rows, value(0.3), value(1)), "percentile": on(rows, value(30.0), value(1)), "median": on(rows, value(1)),
	"argpartition": on(rows, value(8)), "slice": on(rows, value([]int{1, 1}), value([]int{7, 100})),
	"affine_transform": func(n int) []argument { return []argument{one(images(n)), one(floats(images(n).Shape[0], 8))} },
	"perspective_transform": func(n int) []argument {
		x := images(n)
		corners := [][]float64{{0, 0}, {0, 31}, {31, 0}, {31, 31}}
		moved := [][]float64{{1, 2}, {0, 30}, {31, 1}, {29, 28}}
		return []argument{one(x), value(slices.Repeat([][][]float64{corners}, x.Shape[0])), value(slices.Repeat([][][]float64{moved}, x.Shape[0]))}
	},
	"scale_and_translate": func(n int) []argument {
		x := images(n)
		return []argument{one(x), value([]int{x.Shape[0], 64, 64, 16}), value([]float64{2, 2}), value([]float64{1, 3}), value([]int{1, 2}), value("linear")}
	},
	"map_coordinates": func(n int) []argument {
		return []argument{one(rows(n)), one(tensor{"float32", []int{2, n}, 0, 15}), value(1)}
	},
	"fft": complexes, "view_as_real": complexes, "view_as_complex": on(func(n int) tensor { return floats(n/2, 2) }), "fft2": complexes, "ifft2": complexes, "irfft": complexes,
	"stft": on(rows, value(64), value(16), value(64)), "istft": func(n int) []argument {
		x := floats(max(n/(33*16), 1), 16, 33)
		return []argument{{Tensors: []tensor{x, x}, List: true}, value(64), value(16), value(64)}
	},
	"extract_sequences": on(rows, value(64), value(16)), "full": func(n int) []argument { return []argument{value([]int{n / 256, 256}), value(3.0)} },
	"histogram": on(func(n int) tensor { return floats(n) }, value(64), value([]float64{-1, 1})), "rearrange": on(images, value("b h w c -> b c h w")),
	"ctc_loss": func(n int) []argument {
		batch := max(n/(64*32), 1)
		lengths := tensor{"int32", []int{batch}, 16, 17}
		return []argument{one(tensor{"int32", []int{batch, 16}, 1, 32}), one(floats(batch, 64, 32)), one(lengths), one(tensor{"int32", []int{batch}, 64, 65})}
	},
	"ctc_decode": func(n int) []argument {
		batch := max(n/(64*32), 1)
		return []argument{one(floats(batch, 64, 32)), one(tensor{"int32", []int{batch}, 64, 65})}
	},
	"ssim": func(n int) []argument { return []argument{one(pictures(n)), one(pictures(n)), value(2.0)} },
}

// complexes are the real and the imaginary parts of complex numbers.
func complexes(n int) []argument {
	return []argument{{Tensors: []tensor{rows(n), rows(n)}, List: true}}
}

func pictures(n int) tensor { return floats(max(n/(64*64*3), 1), 64, 64, 3) }

func segments(n int) []argument {
	return []argument{one(rows(n)), one(tensor{"int32", []int{n / 256}, 0, 64}), value(64)}
}

// leftOut lists functions without a row, and the reasons.
var leftOut = map[string]string{
	"convert_to_tensor": "computes nothing", "array": "computes nothing", "stop_gradient": "computes nothing", "copy": "computes nothing",
	"linspace": "makes a few numbers of two", "meshgrid": "is broadcast_to", "vander": "is a table of powers for a vector",
	"cholesky": "needs positive matrices: see det", "cholesky_inverse": "as cholesky", "eigh": "is drawn by random calls: random_matrices.go",
	"svd": "is drawn by random calls: random_matrices.go", "qr": "is drawn by random calls: random_matrices.go", "pinv": "is drawn by random calls: random_matrices.go",
	"lstsq": "is drawn by random calls: random_matrices.go", "lu_factor": "is drawn by random calls: random_matrices.go", "matrix_rank": "is drawn by random calls: random_matrices.go",
	"solve": "is inv with another right side", "solve_triangular": "is solve",
	"einsum": "is matmul or transpose, by its subscripts", "tensordot": "is matmul", "inner": "is matmul", "vdot": "is a product and a sum", "outer": "is a product of broadcasts",
	"kron": "is a product of broadcasts", "cdist": "is matmul and a sum", "corrcoef": "is matmul", "correlate": "is a convolution of one channel",
	"crop_images": "is slice", "pad_images": "is pad", "get_item": "is slice", "unstack": "is split", "unravel_index": "is a few divisions",
	"bincount": "needs the largest number beforehand", "scatter": "see segment_sum", "scatter_update": "see segment_sum", "slice_update": "is a copy", "select": "is where", "in_top_k": "is top_k",
	"multi_hot": "is one_hot and a maximum", "sparse_categorical_crossentropy": "see the losses", "fold": "see extract_patches", "unfold": "see extract_patches",
	"diag": "makes a large matrix of a vector", "diagflat": "makes a large matrix of a vector", "isin": "compares with a list", "psnr": "is a mean of squares",
	"allclose": "is isclose", "append": "is concatenate", "nanpercentile": "is percentile", "nanquantile": "is quantile", "nanmedian": "is median",
	"layer_normalization": "see bench-shapes", "trapezoid": "is a sum", "norm": "is a sum of squares", "conj": "computes nothing", "conjugate": "computes nothing",
	"real": "computes nothing", "elastic_transform": "draws at random, with other numbers on every backend",
	"reshape": "computes nothing: a view", "expand_dims": "computes nothing: a view", "squeeze": "computes nothing: a view", "ravel": "computes nothing: a view",
	"view": "computes nothing: a view", "empty_like": "computes nothing",
	"unique": "needs the argument size, which the other backends have not", "ldexp": "is a product with a power",
}

// positive are the functions of numbers above 0.
var positive = regexp.MustCompile(`^(log.*|sqrt|rsqrt|power|binary_crossentropy|categorical_crossentropy|arccosh)$`)

var required = regexp.MustCompile(`^\w+$`)

// caseOf returns the call of a function with about n elements.
func caseOf(name string, n int) (benchmark, error) {
	b := benchmark{Name: name, Function: name}
	if f := special[name]; f != nil {
		b.Arguments = f(n)
		return b, nil
	}
	signature, _, ok := layers.OperationSignature(name)
	if !ok {
		return b, fmt.Errorf("there is no function %q", name)
	}
	_, list, _ := strings.Cut(strings.TrimSuffix(signature, ")"), "(")
	for _, p := range strings.Split(list, ", ") {
		if !required.MatchString(p) {
			break
		}
		x := rows(n)
		if positive.MatchString(name) {
			x.Low = 0.05
		}
		b.Arguments = append(b.Arguments, one(x))
	}
	return b, nil
}

// program traces the call, and with gradients also the gradients of its first result, which is weighed by another
// input.
func (b *benchmark) program(gradients bool) (p *ir.Program, err error) {
	if b.Layer != "" {
		return b.layerProgram(gradients)
	}
	defer ops.Catch(&err)
	g := ops.NewGraph(b.Name)
	var args []any
	var sources []*ops.Tensor
	for i, a := range b.Arguments {
		var tensors []*ops.Tensor
		for j, t := range a.Tensors {
			d, err := ir.ParseDType(t.DType)
			if err != nil {
				return nil, err
			}
			x := g.Input(fmt.Sprintf("x%d.%d", i, j), d, t.Shape...)
			tensors = append(tensors, x)
			if d.IsFloat() {
				sources = append(sources, x)
			}
		}
		switch {
		case a.List:
			args = append(args, tensors)
		case len(tensors) > 0:
			args = append(args, tensors[0])
		default:
			args = append(args, a.Value)
		}
	}
	if loop := loopCalls[b.Function]; loop != nil {
		if gradients && b.Function == "loop_while" {
			return nil, errNoGradient
		}
		return finish(g, loop(sources), sources, gradients)
	}
	return finish(g, layers.Compute(g, b.Function, args...), sources, gradients)
}

// finish makes outputs of the results, or of the gradients of the first one, which is weighed by another input.
func finish(g *ops.Graph, results, sources []*ops.Tensor, gradients bool) (*ir.Program, error) {
	if gradients {
		if len(sources) == 0 || !results[0].DType().IsFloat() {
			return nil, errNoGradient
		}
		dy := g.Input("dy", results[0].DType(), results[0].Shape()...)
		for i, d := range ops.VJP(results[:1], []*ops.Tensor{dy}, sources...) {
			if d != nil && d.Value() != dy.Value() { // passing dy on is no work
				g.Program().AddOutput(fmt.Sprint("gradient", i), d.Value())
			}
		}
		if len(g.Program().Outputs) == 0 {
			return nil, errNoGradient
		}
		return g.Program(), nil
	}
	for i, y := range results {
		g.Program().AddOutput(fmt.Sprint("y", i), y.Value())
	}
	return g.Program(), nil
}

var errNoGradient = fmt.Errorf("has no gradient")

// traffic is what the program reads and writes.
func traffic(p *ir.Program) int {
	n := 0
	for _, in := range p.Inputs {
		n += p.Type(in.Value).Bytes()
	}
	for _, out := range p.Outputs {
		n += p.Type(out.Value).Bytes()
	}
	return max(n, 1)
}

// drawnElements is the number of elements of an operand that are drawn; larger operands repeat them.
const drawnElements = 1 << 20

// fill draws the elements of an operand.
func fill(data []byte, t tensor) {
	state := uint64(88172645463325252)
	d, _ := ir.ParseDType(t.DType)
	size := d.Size()
	some := min(len(data), drawnElements*size)
	for i := 0; i < some; i += size {
		state ^= state << 13
		state ^= state >> 7
		state ^= state << 17
		u := float64(state>>11) / (1 << 53)
		v := t.Low + (t.High-t.Low)*u
		if !d.IsFloat() {
			v = math.Floor(v)
		}
		copy(data[i:some], ir.AppendElement(nil, d, v))
	}
	for ; some > 0 && some < len(data); some *= 2 {
		copy(data[some:], data[:some])
	}
}
