package hlo

import (
	"encoding/binary"
	"fmt"
)

// Numbers of fields in xla/service/hlo.proto and xla/xla_data.proto.
const (
	shapeOf            = 3 // of HloInstructionProto
	windowOf           = 15
	convolutionNumbers = 16
	dotNumbers         = 30
	id                 = 35
	operandIDs         = 36
	dimensions         = 3 // of ShapeProto
	leftContracting    = 1 // of DotDimensionNumbers
	kernelInput        = 3 // of ConvolutionDimensionNumbers: the axis of the kernel that is summed over
	inputSpatial       = 11
	outputSpatial      = 12
)

// instruction is what Products needs to know of one.
type instruction struct {
	name            string
	id              uint64
	shape, operands []uint64
	called          []uint64
	contract        []uint64 // axes of the left operand that a product of matrices sums over
	kernelInput     uint64
	in, space       []uint64   // spatial axes of a convolution's input and result
	window          [][7]int64 // of each of them; by the number of a field
}

// Products counts the arithmetic of a program's products of matrices and convolutions: two operations for each pair of
// elements that are multiplied, without those that padding or dilation puts between them. What runs in loops is counted
// apart, one round of it. Other operations are left out, as their number depends on how a compiler writes them. format
// is what the plugin calls the bytes: "hlo" or "hlo_with_config".
func Products(code []byte, format string) (once, inLoops float64, err error) {
	all, first, err := instructionsOf(code, format)
	if err != nil {
		return 0, 0, err
	}
	var visit func(number uint64, in *float64)
	visit = func(number uint64, in *float64) {
		shapes := map[uint64][]uint64{}
		for _, i := range all[number] {
			shapes[i.id] = i.shape
		}
		for _, i := range all[number] {
			within := in
			switch i.name {
			case "while":
				within = &inLoops
			case "dot", "convolution":
				if len(i.operands) >= 2 {
					*in += i.flops(shapes[i.operands[0]], shapes[i.operands[1]])
				}
			case "reduce", "reduce-window", "scatter", "select-and-scatter", "sort", "all-reduce":
				continue
			}
			for _, c := range i.called {
				visit(c, within)
			}
		}
	}
	visit(first, &once)
	return once, inLoops, nil
}

// flops counts the operations of a product of operands of the given shapes.
func (i *instruction) flops(left, right []uint64) float64 {
	n := 2.0
	for _, d := range i.shape {
		n *= float64(d)
	}
	if i.name == "dot" {
		for _, axis := range i.contract {
			n *= float64(left[axis])
		}
		return n
	}
	n *= float64(right[i.kernelInput])
	for k, w := range i.window {
		length := int64(i.shape[i.space[k]])
		n *= float64(meetings(w, length, int64(left[i.in[k]]))) / float64(length)
	}
	return n
}

// meetings is how many elements of a window meet elements of the input, over all places of the window along an axis.
func meetings(w [7]int64, places, length int64) int64 {
	size, stride, low, dilation, base := w[1], max(w[2], 1), w[3], max(w[5], 1), max(w[6], 1) // of WindowDimension
	n := int64(0)
	for place := range places {
		for k := range size {
			at := place*stride + k*dilation - low
			if at >= 0 && at%base == 0 && at/base < length {
				n++
			}
		}
	}
	return n
}

// instructionsOf reads the computations of a module, by number, and the number of the first.
func instructionsOf(code []byte, format string) (all map[uint64][]*instruction, first uint64, err error) {
	all = map[uint64][]*instruction{}
	err = inModule(code, format, func(field, n uint64, contents []byte) error {
		switch field {
		case entry:
			first = n
		case computations:
			own, list := uint64(0), []*instruction(nil)
			err := each(contents, func(field, n uint64, contents []byte) error {
				switch field {
				case number:
					own = n
				case instructions:
					i, err := parse(contents)
					list = append(list, i)
					return err
				}
				return nil
			})
			all[own] = list
			return err
		}
		return nil
	})
	return all, first, err
}

func parse(message []byte) (*instruction, error) {
	i := &instruction{}
	return i, each(message, func(field, n uint64, contents []byte) (err error) {
		switch field {
		case opcode:
			i.name = string(contents)
		case id:
			i.id = n
		case shapeOf:
			return lists(contents, map[uint64]*[]uint64{dimensions: &i.shape})
		case operandIDs:
			i.operands, err = numbers(i.operands, n, contents)
		case calledComputations:
			i.called, err = numbers(i.called, n, contents)
		case dotNumbers:
			return lists(contents, map[uint64]*[]uint64{leftContracting: &i.contract})
		case convolutionNumbers:
			var input []uint64
			err = lists(contents, map[uint64]*[]uint64{kernelInput: &input, inputSpatial: &i.in, outputSpatial: &i.space})
			if len(input) > 0 {
				i.kernelInput = input[0]
			}
		case windowOf:
			return each(contents, func(_, _ uint64, axis []byte) error {
				var w [7]int64
				err := each(axis, func(field, n uint64, _ []byte) error {
					if field < 7 {
						w[field] = int64(n)
					}
					return nil
				})
				i.window = append(i.window, w)
				return err
			})
		}
		return err
	})
}

// lists reads fields that are lists of numbers.
func lists(message []byte, into map[uint64]*[]uint64) error {
	return each(message, func(field, n uint64, contents []byte) (err error) {
		if list := into[field]; list != nil {
			*list, err = numbers(*list, n, contents)
		}
		return err
	})
}

// numbers adds a number of a list to it, or several that are packed.
func numbers(list []uint64, n uint64, packed []byte) ([]uint64, error) {
	if packed == nil {
		return append(list, n), nil
	}
	for len(packed) > 0 {
		n, size := binary.Uvarint(packed)
		if size <= 0 {
			return nil, fmt.Errorf("hlo: a number of a list is cut short")
		}
		list, packed = append(list, n), packed[size:]
	}
	return list, nil
}
