package cpu

import (
	"slices"
	"time"
	"unsafe"

	"github.com/gokeras/gokeras/internal/ints"
	"github.com/gokeras/gokeras/kernels/cpu/internal/plan"
	"github.com/gokeras/gokeras/kernels/cpu/internal/scan"
	"github.com/gokeras/gokeras/kernels/ir"
)

// scanBlockRows is the largest number of rows in a block. The results of a step should stay close to the processor, but
// larger blocks read the matrices that all steps share less often.
const scanBlockRows = 64

// scanFewRows is the least number of rows in a block if there are more blocks than workers.
const scanFewRows = 16

// blockScan runs a scan in blocks of rows. Each block goes through all steps. Workers share the blocks, and each has
// its own bodies.
type blockScan struct {
	rt    *runtime
	attrs ir.ScanAttrs
	batch int

	initial, xs, constants, final, ys []*plan.Operand

	other   []*plan.Operand // by carry: the second buffer, or nil
	home    []int           // by carry: the result that stacks the carry as it is before each step, or -1
	outputs []int           // by output of the reduced body: the output of the scan's body
	byRow   []bool          // by constant
	packed  []scanPacked

	blocks int
	bodies []scanBodies // by worker, or by block if there are fewer
	share  timeShare

	// alone is the same scan cut for one worker. It serves runs in which the pool has no other worker available, where
	// small blocks would needlessly read the matrices several times. It is nil if others were available at compile
	// time.
	alone *blockScan
}

// scanBodies are one worker's compiled bodies, for blocks of the smaller size and for blocks with one more row.
type scanBodies struct {
	rt    *runtime
	sizes [2]*schedule
}

// buildBlockScan returns nil if the rows of a step depend on each other.
func buildBlockScan(b *build) (func(), error) {
	a := b.n.Attrs.(ir.ScanAttrs)
	if b.c.plain {
		return nil, nil
	}
	body, err := pipelineFor(b.c.replicas).normal.Run(a.Body)
	if err != nil {
		return nil, err
	}
	rows := scan.ByRows(body, a)
	if rows == nil {
		return nil, nil
	}
	results := b.results()
	s := &blockScan{
		rt: b.rt(), attrs: a, batch: rows.Batch,
		initial: b.operandList(0, a.Carry), xs: b.operandList(a.Carry, a.Carry+a.Xs), constants: b.operandList(a.Carry+a.Xs, len(b.n.Inputs)),
		final: results[:a.Carry], ys: results[a.Carry:],
	}
	for _, in := range body.Inputs[a.Carry+a.Xs:] {
		s.byRow = append(s.byRow, rows.Row[in.Value])
	}
	dropped := s.findHomes(body)
	s.other = make([]*plan.Operand, a.Carry)
	for k, f := range s.final {
		if s.home[k] < 0 {
			s.other[k] = b.alternates([]*plan.Operand{f})[0]
		}
	}
	packed := s.pack(b, rows)
	if s.chooseBlocks(s.rt.pool.Size()); s.rt.pool.Workers() <= 1 {
		one := *s
		if one.chooseBlocks(1); one.blocks < s.blocks {
			s.alone = &one
			if err := one.compile(b, rows, dropped, packed); err != nil {
				return nil, err
			}
		}
	}
	if err := s.compile(b, rows, dropped, packed); err != nil {
		return nil, err
	}
	return s.run, nil
}

// findHomes looks for results that stack a carry as it is before each step. Such a carry lives in that stack and is
// never copied. findHomes returns which outputs of the body become unnecessary.
func (s *blockScan) findHomes(body *ir.Program) (dropped []bool) {
	carry := s.attrs.Carry
	s.home = ints.Repeat(-1, carry)
	dropped = make([]bool, len(body.Outputs))
	for k, in := range body.Inputs[:carry] {
		for y, out := range body.Outputs[carry:] {
			if out.Value == in.Value && s.home[k] < 0 {
				s.home[k], dropped[carry+y] = y, true
			}
		}
	}
	for j := range body.Outputs {
		if !dropped[j] {
			s.outputs = append(s.outputs, j)
		}
	}
	return dropped
}

// packedRight identifies a matrix on the right of products in all steps: its number among the inputs of the body, and
// whether the products use its transpose.
type packedRight struct {
	input int
	trans bool
}

// rightOf returns the right operand of a product, if it can be packed.
func rightOf(p *ir.Program, n *ir.Node) (packedRight, bool) {
	if n.Op != ir.Dot || !scan.Packable(p, n) {
		return packedRight{}, false
	}
	j := slices.IndexFunc(p.Inputs, func(in ir.Input) bool { return in.Value == n.Inputs[1] })
	return packedRight{j, n.Attrs.(ir.DotAttrs).RhsContract[0] == 1}, j >= 0
}

// pack reserves memory for the matrices on the right of products in all steps.
func (s *blockScan) pack(b *build, rows *scan.RowBody) map[packedRight]*plan.Operand {
	first := s.attrs.Carry + s.attrs.Xs
	packed := map[packedRight]*plan.Operand{}
	for i := range rows.Program.Nodes {
		n := &rows.Program.Nodes[i]
		right, ok := rightOf(rows.Program, n)
		if !ok || right.input < first || packed[right] != nil || !rows.Row[n.Outputs[0]] {
			continue
		}
		t := rows.Program.Type(n.Inputs[1])
		k, columns := t.Shape[0], t.Shape[1]
		if right.trans {
			k, columns = columns, k
		}
		m := b.scanPacked(s.constants[right.input-first], k, columns, right.trans)
		packed[right] = m.to
		s.packed = append(s.packed, m)
	}
	return packed
}

// chooseBlocks cuts the batch into blocks of equal size, or nearly so. For several workers it makes twice as many
// blocks as workers, so that a late worker delays the others less.
func (s *blockScan) chooseBlocks(workers int) {
	rows := scanBlockRows
	if width := s.widest(); width < scanWidth { // rows of a few elements do not fill vectors
		rows *= scanWidth / width
	}
	s.blocks = (s.batch + rows - 1) / rows
	if workers > 1 {
		s.blocks = min(plan.RoundUp(s.blocks, 2*workers), max(s.batch/scanFewRows, min(workers, s.batch/scan.MinBlock)))
	}
}

// scanWidth is how many elements the widest value of a row must have for blocks of scanBlockRows to be large enough.
const scanWidth = 16

// widest returns the largest number of elements of a row, among the carries and the operands and results of a step.
func (s *blockScan) widest() int {
	n := 1
	for _, o := range s.final {
		n = max(n, o.N/max(s.batch, 1))
	}
	for _, o := range slices.Concat(s.xs, s.ys) {
		if length := o.Typ.Shape[0]; length > 0 {
			n = max(n, o.N/length/max(s.batch, 1))
		}
	}
	return n
}

// rowsOf returns the rows of a block.
func (s *blockScan) rowsOf(block int) (first, rows, size int) {
	rows, more := s.batch/s.blocks, s.batch%s.blocks
	if block < more {
		return block * (rows + 1), rows + 1, 1
	}
	return block*rows + more, rows, 0
}

// compile compiles the bodies of all workers.
func (s *blockScan) compile(b *build, rows *scan.RowBody, dropped []bool, packed map[packedRight]*plan.Operand) error {
	s.bodies = make([]scanBodies, min(s.rt.pool.Size(), s.blocks))
	for i := range s.bodies {
		body := &s.bodies[i]
		body.rt = &runtime{workers: make([]worker, 1), ahead: make([]span, 0, len(s.xs)+len(s.ys))}
		c := &compiler{rt: body.rt, device: b.c.device, replica: b.c.replica, replicas: b.c.replicas, packed: packed}
		for size := range body.sizes {
			n := s.batch/s.blocks + size
			if size == 1 && s.batch%s.blocks == 0 {
				continue
			}
			p, err := rows.ForRows(n, dropped)
			if err != nil {
				return err
			}
			if body.sizes[size], err = c.compile(p, false); err != nil {
				return err
			}
			b.kids = append(b.kids, child{body.sizes[size], b.workspace(body.sizes[size].bytes), &s.share})
		}
		if err := body.rt.allocate(rows.Program.Name, 0); err != nil {
			return err
		}
	}
	return nil
}

func (s *blockScan) run() {
	if s.alone != nil && s.rt.pool.Workers() <= 1 {
		s.alone.run()
		return
	}
	for i := range s.packed {
		s.packed[i].fill(s.rt)
	}
	begin := time.Now()
	s.rt.pool.Parallel(s.blocks, 1, s)
	took := time.Since(begin)
	for i := range s.bodies {
		rt := s.bodies[i].rt
		if rt.err != nil {
			s.rt.fail(rt.err)
			rt.err = nil
		}
		s.share.spent += rt.nested
		rt.nested = 0
	}
	if s.rt.profiling {
		s.share.took += took
		s.rt.nested += took
	}
}

// Run implements pool.Task. It takes blocks of rows through all steps.
func (s *blockScan) Run(worker, lo, hi int) {
	for block := lo; block < hi; block++ {
		i := worker
		if s.blocks <= len(s.bodies) {
			i = block
		}
		s.block(&s.bodies[i], block)
	}
}

// rowPointer returns where row first begins in slice i of a stack of the given length. A single slice is a stack of
// length 1.
func (s *blockScan) rowPointer(o *plan.Operand, i, length, first int) unsafe.Pointer {
	stride := o.N / length * o.Typ.DType.Size()
	return unsafe.Add(o.Ptr(), i*stride+first*(stride/s.batch))
}

// block takes one block of rows through all steps.
func (s *blockScan) block(b *scanBodies, block int) {
	a := &s.attrs
	first, rows, size := s.rowsOf(block)
	body := b.sizes[size]
	b.rt.profiling = s.rt.profiling
	for j, o := range s.constants {
		to := body.inputs[a.Carry+a.Xs+j]
		if to.Ptr = o.Ptr(); s.byRow[j] {
			to.Ptr = s.rowPointer(o, 0, 1, first)
		}
	}
	at := func(n int) int {
		if a.Reverse {
			return a.Length - 1 - n
		}
		return n
	}
	for k, o := range s.initial { // a carry that lives in a stack begins there
		if y := s.home[k]; y >= 0 {
			bytes := o.N / s.batch * rows * o.Typ.DType.Size()
			copy(plan.BytesAt(s.rowPointer(s.ys[y], at(0), a.Length, first), bytes), plan.BytesAt(s.rowPointer(o, 0, 1, first), bytes))
		}
	}
	for n := range a.Length {
		for k := range s.initial {
			body.inputs[k].Ptr = s.carry(k, n, at, first)
		}
		for j, o := range s.xs {
			body.inputs[a.Carry+j].Ptr = s.rowPointer(o, at(n), a.Length, first)
		}
		for i, j := range s.outputs {
			if j < a.Carry {
				body.outputs[i].Ptr = s.carry(j, n+1, at, first)
			} else {
				body.outputs[i].Ptr = s.rowPointer(s.ys[j-a.Carry], at(n), a.Length, first)
			}
		}
		b.rt.ahead = s.ahead(b.rt.ahead[:0], n, at, first, rows)
		if body.execute(b.rt); b.rt.err != nil {
			return
		}
	}
}

// carry returns the address of carry k after n steps.
func (s *blockScan) carry(k, n int, at func(int) int, first int) unsafe.Pointer {
	length := s.attrs.Length
	switch {
	case n == length:
		return s.rowPointer(s.final[k], 0, 1, first)
	case s.home[k] >= 0:
		return s.rowPointer(s.ys[s.home[k]], at(n), length, first)
	case n == 0:
		return s.rowPointer(s.initial[k], 0, 1, first)
	case (length-n)%2 == 0:
		return s.rowPointer(s.final[k], 0, 1, first)
	}
	return s.rowPointer(s.other[k], 0, 1, first)
}

// ahead lists the memory that is used soon after the products of step n: the slices that the next step reads, and those
// that this step writes.
func (s *blockScan) ahead(list []span, n int, at func(int) int, first, rows int) []span {
	length := s.attrs.Length
	add := func(o *plan.Operand, i int) {
		list = append(list, span{s.rowPointer(o, i, length, first), o.N / length / s.batch * rows * o.Typ.DType.Size()})
	}
	if n+1 < length {
		for _, o := range s.xs {
			add(o, at(n+1))
		}
	}
	for y, o := range s.ys {
		switch {
		case slices.ContainsFunc(s.xs, func(x *plan.Operand) bool { return x.Ptr() == o.Ptr() }): // it was read in this step
		case !slices.Contains(s.home, y):
			add(o, at(n))
		case n+1 < length:
			add(o, at(n+1))
		}
	}
	return list
}
