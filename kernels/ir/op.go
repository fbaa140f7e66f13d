package ir

import "fmt"

// Op is an operation code.
type Op uint8

// The operations, in families. The table in this file gives each its printed name, its StableHLO counterpart ("" where
// it is decomposed first) and its shape rule; the comments give the operands.
const (
	OpInvalid Op = iota

	// Sources.
	Constant // () -> literal
	Iota     // () -> 0, 1, 2, ... along an axis
	RngBits  // (state uint32[4]) -> uint32 Philox4x32-10 bits; see RngAttrs

	// Elementwise, one operand.
	Neg
	Abs
	Sign // -1, 0, 1; NaN stays
	Floor
	Ceil
	Round // to nearest, ties to even
	Exp
	Exp2 // 2 to the power x
	Expm1
	Log
	Log1p
	Sqrt
	Rsqrt
	Sin
	Cos
	Tan
	Asin
	Acos
	Atan
	Sinh
	Cosh
	Asinh
	Acosh
	Atanh
	Tanh
	Sigmoid // 1/(1+exp(-x))
	Erf
	ErfInv
	Erfc // 1 - erf, with all digits
	Lgamma
	Relu     // max(x, 0); NaN stays
	Gelu     // x·Φ(x), with the distribution function Φ of the normal distribution
	IsFinite // float -> bool
	Not      // bool: logical; integers: bitwise
	Identity // copies; stops gradients, marks custom gradients; with LayoutAttrs it says where the value lies on a mesh
	Convert  // to another element type; to floats rounds to nearest even; floats to integers truncate and saturate, NaN gives 0; integers to integers wrap; to bool is != 0

	// Elementwise, two operands of one type and shape. Integer arithmetic wraps.
	Add
	Sub
	Mul
	Div     // integers truncate; division by zero gives 0
	Pow     // as C's pow; integers: 0 for a negative exponent, unless the base is 1 or -1
	Maximum // NaN wins
	Minimum // NaN wins
	Rem     // sign of the dividend, as in C; integers: 0 for a zero divisor
	Atan2
	GeluGrad // (x, dy) -> dy·(Φ(x) + x·φ(x)), with the density φ of the normal distribution
	BitAnd   // also logical and
	BitOr    // also logical or
	BitXor
	ShiftLeft  // by the element's width or more, or by a negative amount: 0
	ShiftRight // arithmetic for signed, logical for unsigned; by the width or more, or by a negative amount: 0, or -1 for negative numbers
	Compare    // -> bool
	Select     // (pred bool, on true, on false)

	// Shape.
	Reshape
	Transpose
	Broadcast
	Slice
	Pad // (operand, scalar padding value)
	Concat
	Reverse
	BitCast            // the same bytes read as another element type: the last axis grows or shrinks by the ratio of the sizes
	DynamicSlice       // (operand, one int32 scalar start per axis); starts are clamped so that the cut fits
	DynamicUpdateSlice // (operand, update, starts...); clamped likewise

	// Contraction, indexing, reduction, order.
	Dot
	Gather  // (operand, indices)
	Scatter // (operand, indices, updates)
	Reduce
	ArgMax // -> int32; the first of equals; NaN counts as largest
	ArgMin // -> int32; the first of equals; NaN counts as smallest
	Cumulative
	Sort        // -> sorted values, int32 positions
	TopK        // -> values, int32 positions, largest first
	CheckFinite // (operand) -> the operand; an element that is NaN or infinite ends the run with a [NotFiniteError]

	// Control flow.
	Scan
	While
	Cond

	// Composites.
	Conv                          // (x, kernel)
	ConvInputGrad                 // (dy, kernel) -> dx; also the transposed convolution
	ConvKernelGrad                // (x, dy) -> dkernel
	MaxPool                       // (x)
	MaxPoolGrad                   // (x, y, dy) -> dx; the first maximum of a window, in row-major order, takes the gradient; NaN is a maximum
	AvgPool                       // (x)
	AvgPoolGrad                   // (dy) -> dx
	Resample                      // (x); see ResampleAttrs
	BatchNorm                     // (x, gamma, beta) -> y, mean, biased variance; over all axes but the last
	BatchNormGrad                 // (x, gamma, mean, variance, dy) -> dx, dgamma, dbeta
	LayerNorm                     // (x, gamma, beta) -> y, mean, rstd; over the last axis; mean, rstd lack that axis
	LayerNormGrad                 // (x, gamma, mean, rstd, dy) -> dx, dgamma, dbeta
	GroupNorm                     // (x, gamma, beta) -> y, mean, rstd; x is (batch, ..., channels), mean and rstd (batch, groups)
	GroupNormGrad                 // (x, gamma, mean, rstd, dy) -> dx, dgamma, dbeta
	Softmax                       // (x); last axis
	SoftmaxGrad                   // (y, dy) -> dx
	LogSoftmax                    // (x); last axis
	LogSoftmaxGrad                // (y, dy) -> dx
	SparseSoftmaxCrossEntropy     // (logits[..., C], labels[...] integer) -> loss[...], logsumexp[...]
	SparseSoftmaxCrossEntropyGrad // (logits, labels, logsumexp, dloss) -> dlogits
	Dropout                       // (x, rng state); its gradient is itself on dy
	Attention                     // (q[B T H D], k[B S H D], v[B S H V], [mask bool, broadcastable to B H T S]) -> y[B T H V], logsumexp[B H T]
	AttentionGrad                 // (q, k, v, y, logsumexp, dy, [mask]) -> dq, dk, dv
	Embedding                     // (table[V D], indices) -> rows
	EmbeddingGrad                 // (table, indices, dy) -> dtable
	LstmCell                      // (gates' sums z[... 4U], carry[... U]) -> h, next carry, gates after sigmoid and tanh [... 4U], in the order input, forget, candidate, output
	LstmCellGrad                  // (gates, carry, dh, dnext) -> dz, dcarry
	GruCell                       // (gates of x [... 3U], gates of h [... 3U], h [... U]) -> next h, gates after sigmoid and tanh [... 3U], in the order update, reset, candidate
	GruCellGrad                   // (gates, gates of h, h, dnext) -> gradients of the three operands of GruCell
	Fourier                       // (re, im) -> re, im: Σ_t x[t]·exp(-2πi·kt/n) along an axis of length n
	RealFourier                   // (x[... n]) -> re, im [... n/2+1]: of a real x, the elements that are not conjugates of others
	HermitianFourier              // (re, im [... n/2+1]) -> x[... n]: Σ_k X[k]·exp(2πi·kt/n), with the conjugates; real
	Eliminate                     // (a[... N N], b[... N M]) -> a⁻¹·b, sign of the determinant of a [...], logarithm of its absolute value [...]
	Factor                        // (x[... M N], [y[... M K]]) -> the factors of its matrices; see FactorAttrs
	RnnScan                       // see RnnAttrs: (x·W+b [B T G·U], recurrent kernel, [recurrent bias], states..., [mask bool [B T]]) -> ys[B T U], final states...
	PackedDot                     // (x[... K], integers of four bits, two neighbours of a row [K N] in each int8, [scale, int8 zero, each [blocks N]]) -> [... N], Σ_k x[k]·(w[k] - zero)·scale
	PackedEmbedding               // (integers of four or eight bits [V bytes] in int8, indices, scale [V], or scale, int8 zero, each [V blocks]) -> rows [... N] of floats; see PackedEmbeddingAttrs
	Barrier                       // (x, y) -> x, after y: what is computed from the result is another thing than what is computed from x, so that a value can be computed again in place of being kept
	OptimizerUpdate               // (w, g, learning rate, step, slots..., or also gate, divisor) -> w, slots...; see OptimizerAttrs

	// Collectives.
	AllReduce     // (values...) -> values...
	AllGather     // (value)
	ReduceScatter // (value)
	CollectiveBroadcast
	ReplicaID // () -> uint32 scalar

	opCount
)

type opInfo struct {
	name      string
	stablehlo string
	min, max  int // operands; max -1 is any number
	infer     func(in []Type, attrs Attrs) ([]Type, error)
}

var opTable [opCount]opInfo

func init() {
	opTable = [opCount]opInfo{
		OpInvalid: {name: "invalid", infer: func([]Type, Attrs) ([]Type, error) { return nil, fmt.Errorf("op is not set") }},

		Constant: {"constant", "constant", 0, 0, inferConstant},
		Iota:     {"iota", "iota", 0, 0, inferIota},
		RngBits:  {"rng_bits", "rng_bit_generator", 1, 1, inferRngBits},

		Neg:      {"neg", "negate", 1, 1, inferNumeric},
		Abs:      {"abs", "abs", 1, 1, inferNumeric},
		Sign:     {"sign", "sign", 1, 1, inferNumeric},
		Floor:    {"floor", "floor", 1, 1, inferFloat},
		Ceil:     {"ceil", "ceil", 1, 1, inferFloat},
		Round:    {"round", "round_nearest_even", 1, 1, inferFloat},
		Exp:      {"exp", "exponential", 1, 1, inferFloat},
		Exp2:     {"exp2", "", 1, 1, inferFloat},
		Expm1:    {"expm1", "exponential_minus_one", 1, 1, inferFloat},
		Log:      {"log", "log", 1, 1, inferFloat},
		Log1p:    {"log1p", "log_plus_one", 1, 1, inferFloat},
		Sqrt:     {"sqrt", "sqrt", 1, 1, inferFloat},
		Rsqrt:    {"rsqrt", "rsqrt", 1, 1, inferFloat},
		Sin:      {"sin", "sine", 1, 1, inferFloat},
		Cos:      {"cos", "cosine", 1, 1, inferFloat},
		Tan:      {"tan", "tan", 1, 1, inferFloat},
		Asin:     {"asin", "chlo.asin", 1, 1, inferFloat},
		Acos:     {"acos", "chlo.acos", 1, 1, inferFloat},
		Atan:     {"atan", "chlo.atan", 1, 1, inferFloat},
		Sinh:     {"sinh", "chlo.sinh", 1, 1, inferFloat},
		Cosh:     {"cosh", "chlo.cosh", 1, 1, inferFloat},
		Asinh:    {"asinh", "chlo.asinh", 1, 1, inferFloat},
		Acosh:    {"acosh", "chlo.acosh", 1, 1, inferFloat},
		Atanh:    {"atanh", "chlo.atanh", 1, 1, inferFloat},
		Tanh:     {"tanh", "tanh", 1, 1, inferFloat},
		Sigmoid:  {"sigmoid", "logistic", 1, 1, inferFloat},
		Erf:      {"erf", "chlo.erf", 1, 1, inferFloat},
		ErfInv:   {"erf_inv", "chlo.erf_inv", 1, 1, inferFloat},
		Erfc:     {"erfc", "", 1, 1, inferFloat},
		Lgamma:   {"lgamma", "chlo.lgamma", 1, 1, inferFloat},
		Relu:     {"relu", "", 1, 1, inferNumeric},
		Gelu:     {"gelu", "", 1, 1, inferFloat},
		IsFinite: {"is_finite", "is_finite", 1, 1, inferIsFinite},
		Not:      {"not", "not", 1, 1, inferBitwise},
		Identity: {"identity", "optimization_barrier", 1, 1, inferIdentity},
		Convert:  {"convert", "convert", 1, 1, inferConvert},

		Add:        {"add", "add", 2, 2, inferNumeric},
		Sub:        {"sub", "subtract", 2, 2, inferNumeric},
		Mul:        {"mul", "multiply", 2, 2, inferNumeric},
		Div:        {"div", "divide", 2, 2, inferNumeric},
		Pow:        {"pow", "power", 2, 2, inferNumeric},
		Maximum:    {"max", "maximum", 2, 2, inferNumeric},
		Minimum:    {"min", "minimum", 2, 2, inferNumeric},
		Rem:        {"rem", "remainder", 2, 2, inferNumeric},
		Atan2:      {"atan2", "atan2", 2, 2, inferFloat},
		GeluGrad:   {"gelu_grad", "", 2, 2, inferFloat},
		BitAnd:     {"and", "and", 2, 2, inferBitwise},
		BitOr:      {"or", "or", 2, 2, inferBitwise},
		BitXor:     {"xor", "xor", 2, 2, inferBitwise},
		ShiftLeft:  {"shift_left", "shift_left", 2, 2, inferInteger},
		ShiftRight: {"shift_right", "shift_right_arithmetic|shift_right_logical", 2, 2, inferInteger},
		Compare:    {"compare", "compare", 2, 2, inferCompare},
		Select:     {"select", "select", 3, 3, inferSelect},

		Reshape:            {"reshape", "reshape", 1, 1, inferReshape},
		Transpose:          {"transpose", "transpose", 1, 1, inferTranspose},
		Broadcast:          {"broadcast", "broadcast_in_dim", 1, 1, inferBroadcast},
		Slice:              {"slice", "slice", 1, 1, inferSlice},
		Pad:                {"pad", "pad", 2, 2, inferPad},
		Concat:             {"concat", "concatenate", 1, -1, inferConcat},
		Reverse:            {"reverse", "reverse", 1, 1, inferReverse},
		BitCast:            {"bit_cast", "bitcast_convert", 1, 1, inferBitCast},
		DynamicSlice:       {"dynamic_slice", "dynamic_slice", 1, -1, inferDynamicSlice},
		DynamicUpdateSlice: {"dynamic_update_slice", "dynamic_update_slice", 2, -1, inferDynamicUpdateSlice},

		Dot:         {"dot", "dot_general", 2, 2, inferDot},
		Gather:      {"gather", "gather", 2, 2, inferGather},
		Scatter:     {"scatter", "scatter", 3, 3, inferScatter},
		Reduce:      {"reduce", "reduce", 1, 1, inferReduce},
		ArgMax:      {"argmax", "reduce", 1, 1, inferArg},
		ArgMin:      {"argmin", "reduce", 1, 1, inferArg},
		Cumulative:  {"cumulative", "reduce_window", 1, 1, inferCumulative},
		Sort:        {"sort", "sort", 1, 1, inferSort},
		TopK:        {"top_k", "chlo.top_k", 1, 1, inferTopK},
		CheckFinite: {"check_finite", "optimization_barrier", 1, 1, inferCheckFinite},

		Scan:  {"scan", "while", 0, -1, inferScan},
		While: {"while", "while", 1, -1, inferWhile},
		Cond:  {"cond", "if", 1, -1, inferCond},

		Conv:                          {"conv", "convolution", 2, 2, inferConv},
		ConvInputGrad:                 {"conv_input_grad", "convolution", 2, 2, inferConvInputGrad},
		ConvKernelGrad:                {"conv_kernel_grad", "convolution", 2, 2, inferConvKernelGrad},
		MaxPool:                       {"max_pool", "reduce_window", 1, 1, inferPool},
		MaxPoolGrad:                   {"max_pool_grad", "select_and_scatter", 3, 3, inferMaxPoolGrad},
		AvgPool:                       {"avg_pool", "reduce_window", 1, 1, inferPool},
		AvgPoolGrad:                   {"avg_pool_grad", "reduce_window", 1, 1, inferAvgPoolGrad},
		Resample:                      {"resample", "", 1, 1, inferResample},
		BatchNorm:                     {"batch_norm", "batch_norm_training", 3, 3, inferBatchNorm},
		BatchNormGrad:                 {"batch_norm_grad", "batch_norm_grad", 5, 5, inferBatchNormGrad},
		LayerNorm:                     {"layer_norm", "", 3, 3, inferLayerNorm},
		LayerNormGrad:                 {"layer_norm_grad", "", 5, 5, inferLayerNormGrad},
		GroupNorm:                     {"group_norm", "", 3, 3, inferGroupNorm},
		GroupNormGrad:                 {"group_norm_grad", "", 5, 5, inferGroupNormGrad},
		LstmCell:                      {"lstm_cell", "", 2, 2, inferLstmCell},
		LstmCellGrad:                  {"lstm_cell_grad", "", 4, 4, inferLstmCellGrad},
		GruCell:                       {"gru_cell", "", 3, 3, inferGruCell},
		GruCellGrad:                   {"gru_cell_grad", "", 4, 4, inferGruCellGrad},
		Softmax:                       {"softmax", "", 1, 1, inferLastAxis},
		SoftmaxGrad:                   {"softmax_grad", "", 2, 2, inferLastAxis},
		LogSoftmax:                    {"log_softmax", "", 1, 1, inferLastAxis},
		LogSoftmaxGrad:                {"log_softmax_grad", "", 2, 2, inferLastAxis},
		SparseSoftmaxCrossEntropy:     {"sparse_softmax_cross_entropy", "", 2, 2, inferSparseXent},
		SparseSoftmaxCrossEntropyGrad: {"sparse_softmax_cross_entropy_grad", "", 4, 4, inferSparseXentGrad},
		Dropout:                       {"dropout", "", 2, 2, inferDropout},
		Attention:                     {"attention", "", 3, 4, inferAttention},
		AttentionGrad:                 {"attention_grad", "", 6, 7, inferAttentionGrad},
		Embedding:                     {"embedding", "gather", 2, 2, inferEmbedding},
		EmbeddingGrad:                 {"embedding_grad", "scatter", 3, 3, inferEmbeddingGrad},
		Fourier:                       {"fourier", "", 2, 2, inferFourier},
		RealFourier:                   {"real_fourier", "", 1, 1, inferRealFourier},
		HermitianFourier:              {"hermitian_fourier", "", 2, 2, inferHermitianFourier},
		Eliminate:                     {"eliminate", "", 2, 2, inferEliminate},
		Factor:                        {"factor", "", 1, 2, inferFactor},
		RnnScan:                       {"rnn_scan", "", 3, -1, inferRnnScan},
		PackedDot:                     {"packed_dot", "", 2, 4, inferPackedDot},
		PackedEmbedding:               {"packed_embedding", "", 3, 4, inferPackedEmbedding},
		Barrier:                       {"barrier", "optimization_barrier", 2, 2, inferBarrier},
		OptimizerUpdate:               {"optimizer_update", "", 4, -1, inferOptimizerUpdate},

		AllReduce:           {"all_reduce", "all_reduce", 1, -1, inferAllReduce},
		AllGather:           {"all_gather", "all_gather", 1, 1, inferAllGather},
		ReduceScatter:       {"reduce_scatter", "reduce_scatter", 1, 1, inferReduceScatter},
		CollectiveBroadcast: {"collective_broadcast", "collective_broadcast", 1, 1, inferCollectiveBroadcast},
		ReplicaID:           {"replica_id", "replica_id", 0, 0, inferReplicaID},
	}
}

// Ops lists all operations in table order.
func Ops() []Op {
	all := make([]Op, 0, opCount-1)
	for op := Constant; op < opCount; op++ {
		all = append(all, op)
	}
	return all
}

// String returns the printed name of the op.
func (op Op) String() string {
	if op >= opCount {
		return fmt.Sprintf("op(%d)", uint8(op))
	}
	return opTable[op].name
}

// StableHLO names the counterpart in the StableHLO (or CHLO, prefix "chlo.") dialect; "" for composites that are
// decomposed.
func (op Op) StableHLO() string {
	if op >= opCount {
		return ""
	}
	return opTable[op].stablehlo
}

// IsElementwise reports whether each result element depends only on the operands' elements at the same place.
func (op Op) IsElementwise() bool { return op >= Neg && op <= Select }

// IsCollective reports whether the op communicates with other replicas.
func (op Op) IsCollective() bool { return op >= AllReduce && op <= CollectiveBroadcast }

// IsComposite reports whether the op has a decomposition into primitives.
func (op Op) IsComposite() bool { return op < opCount && decompositions[op] != nil }
