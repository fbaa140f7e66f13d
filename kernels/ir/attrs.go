package ir

import "slices"

// Attrs are the static attributes of a node. Each op with attributes uses exactly one of the types in this file; ops
// without attributes have nil, and those of Identity are optional. All types are plain structs of comparable text, so a
// node prints and hashes by its fields.
type Attrs interface{ attrs() }

// Kind names the way values are combined by reductions, scatters and collectives.
type Kind string

// The combining kinds. Mean is for collectives only; And and Or are for bool.
const (
	Sum  Kind = "sum"
	Prod Kind = "prod"
	Max  Kind = "max"
	Min  Kind = "min"
	And  Kind = "and"
	Or   Kind = "or"
	Mean Kind = "mean"
	Set  Kind = "set"
)

// Factorization names the factors that Factor computes of each matrix x (m, n).
type Factorization string

// The factorizations.
const (
	Cholesky Factorization = "cholesky" // of the mean of x and its transpose -> the lower triangle l with l·lᵀ = x, or NaN if there is none
	LU       Factorization = "lu"       // -> u, with l below its diagonal; the row that each row was exchanged with, int32, min(m, n)
	QR       Factorization = "qr"       // m >= n -> q (m, n or m), r (n or m, n), by reflections with LAPACK's signs
	SVD      Factorization = "svd"      // m >= n -> u (m, n or m), s (n) in descending order, v (n, n) with x = u·diag(s)·vᵀ
	Eigh     Factorization = "eigh"     // symmetric x -> eigenvalues (n) in ascending order, eigenvectors in columns
	Lower    Factorization = "lower"    // the lower triangle l of x, and y (n, k) -> z with l·z = y
	Upper    Factorization = "upper"    // like Lower, with the upper triangle
)

// Direction is the relation tested by Compare. Comparisons with NaN are false, except Ne, which is true.
type Direction string

// The relations.
const (
	Eq Direction = "eq"
	Ne Direction = "ne"
	Lt Direction = "lt"
	Le Direction = "le"
	Gt Direction = "gt"
	Ge Direction = "ge"
)

// IndexMode says what happens to an index outside its axis.
type IndexMode string

// The index modes. IndexError (the zero value) makes the run return an error that names the layer, the index and the
// axis length. IndexClip uses the nearest valid index; since an empty axis has none, it then acts as IndexDrop.
// IndexDrop reads zero and writes nothing. Negative indices are outside. Ops without a mode (embedding, cross-entropy
// labels) follow IndexError.
const (
	IndexError IndexMode = ""
	IndexClip  IndexMode = "clip"
	IndexDrop  IndexMode = "drop"
)

type (
	// ConstantAttrs hold the value of a Constant.
	ConstantAttrs struct{ Literal Literal }
	// IotaAttrs describe an Iota: values 0, 1, 2, ... along Axis, repeated along the other axes.
	IotaAttrs struct {
		Type Type
		Axis int
	}
	// RngAttrs describe an RngBits: the shape of the result and the stream, a number that distinguishes the random ops
	// of one program. The state operand is (seed low, seed high, step, replica); element i (row-major) is word i%4 of
	// the Philox4x32-10 block of counter (i/4, Stream, step, replica) under the key (seed low, seed high).
	RngAttrs struct {
		Shape  Shape
		Stream uint32
	}
	// ConvertAttrs give the element type that a Convert or a BitCast produces.
	ConvertAttrs struct{ DType DType }
	// CompareAttrs give the relation of a Compare.
	CompareAttrs struct{ Direction Direction }
	// ReshapeAttrs give the new shape of a Reshape; the number of elements is unchanged.
	ReshapeAttrs struct{ Shape Shape }
	// TransposeAttrs: axis i of the result is axis Perm[i] of the operand.
	TransposeAttrs struct{ Perm []int }
	// BroadcastAttrs: axis i of the operand becomes axis Axes[i] of the result (Axes strictly increasing); its length
	// is 1 or that of the result's axis.
	BroadcastAttrs struct {
		Shape Shape
		Axes  []int
	}
	// SliceAttrs: elements Start, Start+Stride, ... below Limit along each axis; all strides are positive.
	SliceAttrs struct{ Start, Limit, Stride []int }
	// PadAttrs: Low and High elements are added at the ends of each axis and Interior between neighbours; negative Low
	// and High cut.
	PadAttrs struct{ Low, High, Interior []int }
	// AxisAttrs give the axis of Concat, ArgMax and ArgMin.
	AxisAttrs struct{ Axis int }
	// AxesAttrs give the axes of Reverse.
	AxesAttrs struct{ Axes []int }
	// DynamicSliceAttrs give the shape cut out by a DynamicSlice.
	DynamicSliceAttrs struct{ Sizes []int }
	// DotAttrs: the result has the batch axes, then the free axes of the left, then those of the right operand.
	DotAttrs struct {
		LhsBatch, RhsBatch, LhsContract, RhsContract []int
		// Sums is Int32 if products of Int8 are summed in 32 bits, which is then the type of the result; Invalid means
		// the type of the operands.
		Sums DType
	}
	// PackedDotAttrs: the matrix has Columns columns; if their number is odd, the last high bits are 0. Block
	// neighbouring rows share a scale and a zero point, the last block perhaps fewer; 0: there are none. ByColumns: the
	// matrix is transposed, uint8 [⌈N/2⌉ K], with unsigned numbers; zero is then uint8 too, and scale and zero are [N
	// blocks]. With Bits, from 1 to 8, the matrix is [N K]: each byte has one number below 1<<Bits.
	PackedDotAttrs struct {
		Columns, Block int
		ByColumns      bool
		Bits           int
	}
	// PackedEmbeddingAttrs: the rows of the table have Columns numbers of Bits bits, 4 or 8. With four, a byte has two
	// neighbours, the first one in its lower bits; if their number is odd, the last high bits are not read. With Block
	// 0, a row has one scale, by whose reciprocal its numbers q are multiplied; else so many neighbouring numbers share
	// a scale and a zero point, the last block perhaps fewer, and q stands for (q - zero)·scale; Bits is then 4.
	PackedEmbeddingAttrs struct{ Columns, Block, Bits int }
	// GatherAttrs: result = operand.shape[:Axis] + indices.shape + operand.shape[Axis+1:].
	GatherAttrs struct {
		Axis int
		Mode IndexMode
	}
	// ScatterAttrs: the mirror image of Gather. Updates at the same position are combined by Kind (Sum, Prod, Max, Min;
	// with Set the last one in index order wins). The operand's own element takes part, first, except with Set.
	ScatterAttrs struct {
		Axis int
		Kind Kind
		Mode IndexMode
	}
	// ReduceAttrs: the axes (strictly increasing) are removed from the result. Reducing nothing gives the kind's
	// neutral value: 0 for Sum, 1 for Prod, true for And, false for Or, and for Max (Min) minus (plus) infinity or the
	// smallest (largest) integer. NaN wins in Max and Min.
	ReduceAttrs struct {
		Kind Kind
		Axes []int
	}
	// CumulativeAttrs describe a running Sum, Prod, Max or Min along Axis. Exclusive leaves out an element's own value,
	// so that the first result is the kind's neutral value (see Reduce); Reverse runs from the end.
	CumulativeAttrs struct {
		Kind      Kind
		Axis      int
		Exclusive bool
		Reverse   bool
	}
	// SortAttrs describe a stable sort along Axis. NaN counts as greater than all other numbers: it sorts last, as in
	// NumPy, or first when Descending. Equal elements (-0 equals 0) keep their order in both directions. Kth lists
	// increasing positions along Axis. With it, only the elements at these positions need to be the sorted ones, with
	// the smaller ones in front, as in numpy.partition; a backend may sort completely all the same.
	SortAttrs struct {
		Axis       int
		Descending bool
		Kth        []int
	}
	// FourierAttrs give the axis of a Fourier transform, the last one of a real transform, and the length n of the
	// transform.
	FourierAttrs struct{ Axis, Length int }
	// TopKAttrs give the number of largest elements taken along the last axis, in the order of a descending Sort: NaN
	// first, ties go to the lower index.
	TopKAttrs struct{ K int }

	// ScanAttrs describe a loop of Length steps. Inputs: Carry carried values, then Xs stacked values (axis 0 is the
	// step), then constants. Body inputs: carries, one slice of each x, constants; its outputs: new carries, then one
	// slice of each y. Outputs: final carries, then the stacked ys. Reverse runs from the last step to the first and
	// stores each y at its own step.
	ScanAttrs struct {
		Body    *Program
		Length  int
		Carry   int
		Xs      int
		Reverse bool
	}
	// WhileAttrs describe a loop over State values that runs Body while Cond (a bool scalar) holds. Further inputs are
	// constants; both sub-programs get states, then constants.
	WhileAttrs struct {
		Cond, Body *Program
		State      int
	}
	// CondAttrs: the first input (a bool scalar) picks which sub-program maps the remaining inputs to the outputs.
	CondAttrs struct{ Then, Else *Program }

	// FactorAttrs describe a factorization of matrices. Definition computes the same, except perhaps for the signs of
	// eigenvectors and singular vectors: backends without a kernel run it.
	FactorAttrs struct {
		Kind       Factorization
		Definition *Program
	}

	// ConvAttrs describe a convolution (cross-correlation, as in Keras) over the spatial axes. PadLow and PadHigh are
	// zeros added at the ends; Groups splits input and output channels.
	ConvAttrs struct {
		Strides, Dilation, PadLow, PadHigh []int
		Groups                             int
	}
	// ConvGradAttrs add the shape of the gradient: the input's for ConvInputGrad, the kernel's for ConvKernelGrad.
	ConvGradAttrs struct {
		Conv  ConvAttrs
		Shape Shape
	}
	// PoolAttrs describe pooling windows over the spatial axes. Padding cells never count: maxima ignore them, averages
	// divide by the number of real cells. NaN wins in a maximum.
	PoolAttrs struct{ Window, Strides, PadLow, PadHigh []int }
	// ResampleAttrs: y[.. i ..] = Σ_t Weights[i·Taps+t]·x[.. Cells[i·Taps+t] ..] along Axis, whose new length is
	// len(Cells)/Taps.
	ResampleAttrs struct {
		Axis, Taps int
		Cells      []int
		Weights    []float64
	}
	// PoolGradAttrs add the input's shape for AvgPoolGrad.
	PoolGradAttrs struct {
		Pool  PoolAttrs
		Shape Shape
	}
	// NormAttrs give the epsilon added to the variance under the root.
	NormAttrs struct{ Epsilon float64 }
	// GroupNormAttrs also give the number of groups of channels. Each group is normalized separately in each example.
	GroupNormAttrs struct {
		Groups  int
		Epsilon float64
	}
	// DropoutAttrs: elements are zeroed with probability Rate, the others scaled by 1/(1-Rate). Element i (row-major)
	// is kept when (bits_i >> 8) * 2^-24 >= Rate, where bits are those of RngBits of the same shape and Stream.
	DropoutAttrs struct {
		Rate   float64
		Stream uint32
	}
	// AttentionAttrs: scores are scaled by Scale; Causal hides keys after the query's own position. Masked says that a
	// boolean mask, true where a key may be seen, is the fourth input. A query that sees no key gives zeros and the
	// logsumexp -inf, and no gradients.
	AttentionAttrs struct {
		Scale  float64
		Causal bool
		Masked bool
	}
	// RnnAttrs describe a recurrent layer run over time with the cell Cell ("simple", "lstm", "gru",
	// "gru_reset_before") and the named activations (see KnownActivation). x is the inputs' share x_t·W+b and U the
	// recurrent kernel; h and c are the states. Kernel columns come in blocks of units in the order given:
	//
	//	simple:           h' = act(x + h·U)
	//	lstm, i f c o:    z = x + h·U; c' = rec(z_f)∘c + rec(z_i)∘act(z_c); h' = rec(z_o)∘act(c')
	//	gru, z r h:       z = rec(x_z + h·U_z + b_z); r = rec(x_r + h·U_r + b_r); h' = z∘h + (1-z)∘act(x_h + r∘(h·U_h + b_h))
	//	gru_reset_before: z = rec(x_z + h·U_z); r = rec(x_r + h·U_r); h' = z∘h + (1-z)∘act(x_h + (r∘h)·U_h)
	//
	// The states are h, and for lstm h and c. The y of a step is its h'. Reverse runs from the last step to the first;
	// each y stays at its own step. A step whose mask is false keeps the states and repeats the y of the step run
	// before it (zeros for the first one), or gives zeros with ZeroOutputForMask.
	RnnAttrs struct {
		Cell                string
		Activation          string
		RecurrentActivation string
		Reverse             bool
		Masked              bool
		ZeroOutputForMask   bool
	}
	// OptimizerAttrs name the update rule of an OptimizerUpdate and hold its fixed numbers. The op's operands are the
	// weights w, the gradient g, two scalars of their element type, the learning rate lr and the step number t (1 for
	// the first update), and the slots; it returns the new w and the new slots. Rules, slots and Values:
	//
	//	sgd       -     []                w' = w - lr·g
	//	momentum  m     [mu]              m' = mu·m - lr·g; w' = w + m'
	//	nesterov  m     [mu]              m' = mu·m - lr·g; w' = w + mu·m' - lr·g
	//	adam      m, v  [b1, b2, epsilon] m' = m + (1-b1)·(g-m); v' = v + (1-b2)·(g²-v);
	//	                                  w' = w - lr·√(1-b2^t)/(1-b1^t) · m'/(√v' + epsilon)
	//
	// These are Keras's formulas; Adam's epsilon is the one the paper calls epsilon hat (Kingma, Ba 2015, end of
	// section 2).
	//
	// Two more operands at the end make it an update in mixed precision: a bool, and a scalar that the gradient is
	// divided by first. If the bool is false all results are the old values. The gradient of a float32 w may then have
	// 16 bits.
	OptimizerAttrs struct {
		Rule   string
		Values []float64
	}

	// LayoutAttrs say how the value of an Identity is laid out if the program is divided over a mesh of devices: axis i
	// of the value is divided along axis Axes[i] of the mesh, or not divided if that is -1. Mesh has the number of
	// devices along each axis. Programs of one device, and replicas, ignore it. It is the only Identity that gradients
	// pass through.
	LayoutAttrs struct{ Mesh, Axes []int }

	// CollectiveAttrs describe a collective over Replicas replicas. Axis is used by AllGather and ReduceScatter, Root
	// by Broadcast, Kind by the reducing ones. Bucket groups the all-reduces that a backend should launch together.
	// Groups lists replicas that meet separately: each replica is in one group, and all groups have the same length.
	// nil is one group of all. Root is then a position in the group, and values are in the order of the group.
	CollectiveAttrs struct {
		Kind     Kind
		Replicas int
		Axis     int
		Root     int
		Bucket   int
		Groups   [][]int
	}
)

// Size is the number of replicas in a group.
func (a CollectiveAttrs) Size() int {
	if len(a.Groups) > 0 {
		return len(a.Groups[0])
	}
	return a.Replicas
}

// Group returns the members of a replica's group, and its position among them.
func (a CollectiveAttrs) Group(replica int) (members []int, place int) {
	for _, g := range a.Groups {
		if i := slices.Index(g, replica); i >= 0 {
			return g, i
		}
	}
	members = make([]int, a.Replicas)
	for i := range members {
		members[i] = i
	}
	return members, replica
}

func (ConstantAttrs) attrs()        {}
func (IotaAttrs) attrs()            {}
func (RngAttrs) attrs()             {}
func (ConvertAttrs) attrs()         {}
func (CompareAttrs) attrs()         {}
func (ReshapeAttrs) attrs()         {}
func (TransposeAttrs) attrs()       {}
func (BroadcastAttrs) attrs()       {}
func (SliceAttrs) attrs()           {}
func (PadAttrs) attrs()             {}
func (AxisAttrs) attrs()            {}
func (AxesAttrs) attrs()            {}
func (DynamicSliceAttrs) attrs()    {}
func (DotAttrs) attrs()             {}
func (GatherAttrs) attrs()          {}
func (ScatterAttrs) attrs()         {}
func (ReduceAttrs) attrs()          {}
func (CumulativeAttrs) attrs()      {}
func (SortAttrs) attrs()            {}
func (TopKAttrs) attrs()            {}
func (FourierAttrs) attrs()         {}
func (ScanAttrs) attrs()            {}
func (WhileAttrs) attrs()           {}
func (CondAttrs) attrs()            {}
func (FactorAttrs) attrs()          {}
func (ConvAttrs) attrs()            {}
func (ConvGradAttrs) attrs()        {}
func (PoolAttrs) attrs()            {}
func (ResampleAttrs) attrs()        {}
func (PoolGradAttrs) attrs()        {}
func (NormAttrs) attrs()            {}
func (GroupNormAttrs) attrs()       {}
func (DropoutAttrs) attrs()         {}
func (AttentionAttrs) attrs()       {}
func (PackedDotAttrs) attrs()       {}
func (PackedEmbeddingAttrs) attrs() {}
func (RnnAttrs) attrs()             {}
func (OptimizerAttrs) attrs()       {}
func (LayoutAttrs) attrs()          {}
func (CollectiveAttrs) attrs()      {}
