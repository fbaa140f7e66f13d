package ir

// Traits are the facts about an op that passes and backends need, in one table with a row for each op that is not
// elementwise.
type Traits struct {
	// MayFail: it can end a run with an error, because it checks indices or finiteness, meets other replicas, or
	// contains programs that may.
	MayFail bool
	// Moves: its results are elements of its operands, or numbers that need no computing, whatever their type. Loops
	// and branches count; their sub-programs are checked separately.
	Moves bool
	// Cheap: it takes no longer than reading its result from memory.
	Cheap bool
	// Random: it draws random numbers.
	Random bool
	// InPlace has, for each result, the operand whose memory the result may take over, because no element is read after
	// its position was written; -1 for none. InPlaceEach: result i may take over operand i.
	InPlace     []int
	InPlaceEach bool

	rows  rowRule // how it treats the axis of examples; see RowWise
	flops func(p *Program, n *Node) int64
}

// Traits returns the facts about the op.
func (op Op) Traits() Traits {
	if op >= opCount {
		return Traits{}
	}
	return traits[op]
}

// InPlaceOperand returns the operand whose memory result j of the op may take over, or -1.
func (op Op) InPlaceOperand(j int) int {
	t := op.Traits()
	switch {
	case t.InPlaceEach:
		return j
	case j < len(t.InPlace):
		return t.InPlace[j]
	}
	return -1
}

// Multiplies reports whether the op multiplies matrices in some form.
func (op Op) Multiplies() bool { return op.Traits().flops != nil }

// FLOPs returns the multiplications and additions of a node that multiplies matrices in some form, 0 for others.
func (p *Program) FLOPs(n *Node) int64 {
	if f := n.Op.Traits().flops; f != nil {
		return f(p, n)
	}
	return 0
}

// traits is set by init, because rules refer to ops.
var traits [opCount]Traits

func init() {
	traits = [opCount]Traits{
		Constant: {Moves: true, rows: rowsOfConstant},
		Iota:     {Moves: true, rows: rowsOfIota},
		RngBits:  {Random: true, rows: rowsAcross},

		// Elementwise ops, which keep all axes in their places, have a row only if they are cheap.
		Neg:     {Cheap: true},
		Abs:     {Cheap: true},
		Add:     {Cheap: true},
		Sub:     {Cheap: true},
		Mul:     {Cheap: true},
		Maximum: {Cheap: true},
		Minimum: {Cheap: true},

		Reshape:            {Moves: true, rows: rowsOfReshape},
		Transpose:          {Moves: true, rows: rowsKept},
		Broadcast:          {Moves: true, rows: rowsOfBroadcast},
		Slice:              {Moves: true, rows: rowsOfSlice},
		Pad:                {Moves: true, rows: rowsOfPad},
		Concat:             {Moves: true, rows: rowsOffAxis},
		Reverse:            {Moves: true, rows: rowsOffAxes},
		BitCast:            {Moves: true, rows: rowsAligned},
		DynamicSlice:       {Moves: true, rows: rowsOfDynamicSlice},
		DynamicUpdateSlice: {Moves: true, rows: rowsOfDynamicUpdate, InPlace: []int{0}},

		Dot:         {rows: rowsOfDot, flops: dotFLOPs},
		Gather:      {MayFail: true, Moves: true, rows: rowsOfGather},
		Scatter:     {MayFail: true, rows: rowsAcross, InPlace: []int{0}},
		Reduce:      {rows: rowsOfReduce},
		ArgMax:      {rows: rowsOffAxis},
		ArgMin:      {rows: rowsOffAxis},
		Cumulative:  {rows: rowsOfCumulative, InPlace: []int{0}},
		Sort:        {rows: rowsOfSort},
		TopK:        {rows: rowsOffLast},
		CheckFinite: {MayFail: true, Moves: true, rows: rowsAligned, InPlace: []int{0}},

		Scan:  {MayFail: true, Moves: true, rows: rowsOfScan},
		While: {MayFail: true, Moves: true, rows: rowsKept}, // their bodies are checked; a scalar that no example reaches decides
		Cond:  {MayFail: true, Moves: true, rows: rowsKept},

		Conv:                          {rows: rowsFirstPlainKernel, flops: convFLOPs},
		ConvInputGrad:                 {rows: rowsFirstPlainKernel, flops: convInputGradFLOPs},
		ConvKernelGrad:                {rows: rowsAcross, flops: convKernelGradFLOPs},
		Resample:                      {rows: rowsOfResample},
		MaxPool:                       {rows: rowsFirst},
		MaxPoolGrad:                   {rows: rowsFirst},
		AvgPool:                       {rows: rowsFirst},
		AvgPoolGrad:                   {rows: rowsAcross},
		BatchNorm:                     {rows: rowsAcross},
		BatchNormGrad:                 {rows: rowsAcross, InPlace: []int{4}},
		LayerNorm:                     {rows: rowsOfLayerNorm},
		LayerNormGrad:                 {rows: rowsAcross},
		GroupNorm:                     {rows: rowsFirst},
		GroupNormGrad:                 {rows: rowsFirst, InPlace: []int{4}},
		LstmCell:                      {rows: rowsAlignedOffLast, InPlace: []int{-1, 1, 0}},
		LstmCellGrad:                  {rows: rowsAcross, InPlace: []int{0, 3}},
		GruCell:                       {rows: rowsAlignedOffLast, InPlace: []int{2, 0}},
		GruCellGrad:                   {rows: rowsAcross, InPlace: []int{0, 1, 3}},
		Softmax:                       {rows: rowsAlignedOffLast, InPlace: []int{0}},
		SoftmaxGrad:                   {rows: rowsAcross, InPlace: []int{1}},
		LogSoftmax:                    {rows: rowsAlignedOffLast, InPlace: []int{0}},
		LogSoftmaxGrad:                {rows: rowsAcross, InPlace: []int{1}},
		SparseSoftmaxCrossEntropy:     {MayFail: true, rows: rowsAlignedOffLast},
		SparseSoftmaxCrossEntropyGrad: {rows: rowsAcross}, // the loss has checked its indices
		Dropout:                       {Random: true, rows: rowsAcross, InPlace: []int{0}},
		Attention:                     {rows: rowsFirst, flops: attentionFLOPs},
		AttentionGrad:                 {rows: rowsFirst, flops: attentionGradFLOPs},
		Embedding:                     {MayFail: true, Moves: true, rows: rowsOfEmbedding},
		EmbeddingGrad:                 {rows: rowsAcross}, // Embedding has checked its indices
		Fourier:                       {rows: rowsOfFourier},
		RealFourier:                   {rows: rowsOfFourier},
		HermitianFourier:              {rows: rowsOfFourier},
		Eliminate:                     {rows: rowsOffMatrix},
		Factor:                        {rows: rowsOffMatrix},
		RnnScan:                       {rows: rowsFirst},
		PackedDot:                     {rows: rowsOfPackedDot, flops: packedDotFLOPs},
		PackedEmbedding:               {MayFail: true, rows: rowsOfPackedEmbedding},
		Barrier:                       {Moves: true, rows: rowsAcross, InPlace: []int{0}},
		OptimizerUpdate:               {rows: rowsAcross, InPlace: []int{0, 4, 5, 6, 7}},

		AllReduce:           {MayFail: true, rows: rowsAcross, InPlaceEach: true},
		AllGather:           {MayFail: true, rows: rowsAcross},
		ReduceScatter:       {MayFail: true, rows: rowsAcross},
		CollectiveBroadcast: {MayFail: true, rows: rowsAcross, InPlace: []int{0}},
		ReplicaID:           {rows: rowsAcross},
	}
	for op := range opCount {
		if op.IsElementwise() {
			traits[op].rows = rowsAligned
		}
	}
}

//dim:known programs that run
func dotFLOPs(p *Program, n *Node) int64 {
	sums := int64(1)
	for _, axis := range n.Attrs.(DotAttrs).LhsContract {
		sums *= int64(p.Type(n.Inputs[0]).Shape[axis])
	}
	return 2 * p.elements(n.Outputs[0]) * sums
}

//dim:known programs that run
func packedDotFLOPs(p *Program, n *Node) int64 {
	x := p.Type(n.Inputs[0]).Shape
	return 2 * p.elements(n.Outputs[0]) * int64(x[len(x)-1])
}

// convFLOPs: every output is a sum over the kernel of one output channel.
func convFLOPs(p *Program, n *Node) int64 {
	return windowFLOPs(p.elements(n.Outputs[0]), p.Type(n.Inputs[1]).Shape)
}

func convInputGradFLOPs(p *Program, n *Node) int64 {
	return windowFLOPs(p.elements(n.Inputs[0]), p.Type(n.Inputs[1]).Shape)
}

func convKernelGradFLOPs(p *Program, n *Node) int64 {
	return windowFLOPs(p.elements(n.Inputs[1]), p.Type(n.Outputs[0]).Shape)
}

//dim:known programs that run
func windowFLOPs(outputs int64, kernel Shape) int64 {
	return 2 * outputs * int64(kernel[:len(kernel)-1].Size())
}

func attentionFLOPs(p *Program, n *Node) int64 {
	pairs, q, v := attentionPairs(p, n)
	return 2 * pairs * (q + v)
}

func attentionGradFLOPs(p *Program, n *Node) int64 {
	pairs, q, v := attentionPairs(p, n)
	return 2 * pairs * (3*q + 2*v)
}

// attentionPairs returns the pairs of queries and keys, and the lengths of a query and of a value.
//
//dim:known programs that run
func attentionPairs(p *Program, n *Node) (pairs, query, value int64) {
	q, k, v := p.Type(n.Inputs[0]).Shape, p.Type(n.Inputs[1]).Shape, p.Type(n.Inputs[2]).Shape
	return int64(q[0]) * int64(q[1]) * int64(k[1]) * int64(q[2]), int64(q[3]), int64(v[3])
}

//dim:known programs that run
func (p *Program) elements(v Value) int64 { return int64(p.Type(v).Shape.Size()) }
