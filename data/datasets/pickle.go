package datasets

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// The npy format cannot store lists of different lengths: NumPy writes them as a program for Python's pickle. The code
// in this file reads the programs that NumPy writes for arrays of lists of integers. It runs no foreign code: the only
// names allowed are those that create an array.

// pickleMark begins a group of values on the stack.
type pickleMark struct{}

// pickleName is a class or function, "numpy.core.multiarray _reconstruct".
type pickleName string

// pickleList is a list, which others may refer to while it grows.
type pickleList struct{ items []any }

// pickleObject is the result of calling a name; state is filled in later.
type pickleObject struct {
	name  pickleName
	state any
}

var pickleNames = map[pickleName]bool{
	"numpy.core.multiarray _reconstruct": true, "numpy._core.multiarray _reconstruct": true, "numpy ndarray": true, "numpy dtype": true,
	"_codecs encode": true,
}

type unpickler struct {
	in    []byte
	stack []any
	memo  map[uint32]any
}

var errPickle = errors.New("the pickled array is cut short or broken")

// take returns the next n bytes.
func (u *unpickler) take(n uint64) ([]byte, error) {
	if n > uint64(len(u.in)) {
		return nil, errPickle
	}
	b := u.in[:n]
	u.in = u.in[n:]
	return b, nil
}

// number reads a number of n bytes, little endian.
func (u *unpickler) number(n uint64) (uint64, error) {
	b, err := u.take(n)
	if err != nil {
		return 0, err
	}
	var wide [8]byte
	copy(wide[:], b)
	return binary.LittleEndian.Uint64(wide[:]), nil
}

func (u *unpickler) push(v any) { u.stack = append(u.stack, v) }

func (u *unpickler) pop() (any, error) {
	if len(u.stack) == 0 {
		return nil, errPickle
	}
	v := u.stack[len(u.stack)-1]
	u.stack = u.stack[:len(u.stack)-1]
	return v, nil
}

// group pops the values after the last mark.
func (u *unpickler) group() ([]any, error) {
	for i := len(u.stack) - 1; i >= 0; i-- {
		if _, ok := u.stack[i].(pickleMark); ok {
			items := append([]any{}, u.stack[i+1:]...)
			u.stack = u.stack[:i]
			return items, nil
		}
	}
	return nil, errPickle
}

// unpickle runs a program and returns its result.
func unpickle(program []byte) (any, error) {
	u := &unpickler{in: program, memo: map[uint32]any{}}
	for {
		op, err := u.take(1)
		if err != nil {
			return nil, err
		}
		if op[0] == '.' {
			return u.pop()
		}
		if err := u.step(op[0]); err != nil {
			return nil, err
		}
	}
}

// step executes one instruction, with the meaning given in Python's pickletools for protocols 2 to 4.
func (u *unpickler) step(op byte) error {
	switch op {
	case 0x80: // protocol
		_, err := u.take(1)
		return err
	case 0x95: // frame
		_, err := u.take(8)
		return err
	case '(':
		u.push(pickleMark{})
	case ']':
		u.push(&pickleList{})
	case ')':
		u.push([]any{})
	case 'N':
		u.push(nil)
	case 0x88, 0x89:
		u.push(op == 0x88)
	case 'K', 'M', 'J', 0x8a:
		return u.integer(op)
	case 'X', 'U', 'C', 'B', 'T', 0x8c:
		return u.text(op)
	case 'c', 0x93:
		return u.global(op)
	case 'q', 'r', 0x94, 'h', 'j':
		return u.remember(op)
	case 't', 0x85, 0x86, 0x87, 'a', 'e', 'R', 'b':
		return u.combine(op)
	default:
		return fmt.Errorf("the pickled array uses instruction %#x, which lists of numbers do not need", op)
	}
	return nil
}

func (u *unpickler) integer(op byte) error {
	size := map[byte]uint64{'K': 1, 'M': 2, 'J': 4}[op]
	if op == 0x8a {
		n, err := u.number(1)
		if err != nil || n > 8 {
			return errors.Join(errPickle, err)
		}
		size = n
	}
	v, err := u.number(size)
	if shift := 64 - 8*size; size > 0 && (op == 'J' || op == 0x8a) {
		v = uint64(int64(v<<shift) >> shift)
	}
	u.push(int64(v))
	return err
}

func (u *unpickler) text(op byte) error {
	size := uint64(1)
	if op == 'X' || op == 'B' || op == 'T' {
		size = 4
	}
	n, err := u.number(size)
	if err != nil {
		return err
	}
	b, err := u.take(n)
	u.push(string(b))
	return err
}

func (u *unpickler) global(op byte) error {
	var parts [2]string
	for i := range parts {
		if op == 'c' {
			for {
				b, err := u.take(1)
				if err != nil {
					return err
				}
				if b[0] == '\n' {
					break
				}
				parts[i] += string(b)
				if len(parts[i]) > 100 {
					return errPickle
				}
			}
			continue
		}
		v, err := u.pop()
		if err != nil {
			return err
		}
		s, ok := v.(string)
		if !ok {
			return errPickle
		}
		parts[1-i] = s
	}
	name := pickleName(parts[0] + " " + parts[1])
	if !pickleNames[name] {
		return fmt.Errorf("the pickled array names %q, which is not run; expected lists of numbers", string(name))
	}
	u.push(name)
	return nil
}

func (u *unpickler) remember(op byte) error {
	key := uint64(len(u.memo))
	if size := map[byte]uint64{'q': 1, 'h': 1, 'r': 4, 'j': 4}[op]; size > 0 {
		var err error
		if key, err = u.number(size); err != nil {
			return err
		}
	}
	if op == 'h' || op == 'j' {
		v, ok := u.memo[uint32(key)]
		if !ok {
			return errPickle
		}
		u.push(v)
		return nil
	}
	if len(u.stack) == 0 || key > math.MaxUint32 {
		return errPickle
	}
	u.memo[uint32(key)] = u.stack[len(u.stack)-1]
	return nil
}

func (u *unpickler) combine(op byte) error {
	var items []any
	var err error
	switch op {
	case 't', 'e':
		items, err = u.group()
	case 'a':
		items, err = u.several(1)
	case 'R', 'b':
		items, err = u.several(2)
	default:
		items, err = u.several(int(op - 0x84))
	}
	if err != nil {
		return err
	}
	switch op {
	case 'a', 'e':
		if len(u.stack) == 0 {
			return errPickle
		}
		list, ok := u.stack[len(u.stack)-1].(*pickleList)
		if !ok {
			return errPickle
		}
		list.items = append(list.items, items...)
	case 'R':
		name, ok := items[0].(pickleName)
		if !ok {
			return errPickle
		}
		u.push(&pickleObject{name: name})
	case 'b':
		object, ok := items[0].(*pickleObject)
		if !ok {
			return errPickle
		}
		object.state = items[1]
		u.push(object)
	default:
		u.push(items)
	}
	return nil
}

// several pops n values from the stack, in the order in which they were pushed.
func (u *unpickler) several(n int) ([]any, error) {
	items := make([]any, n)
	for i := n - 1; i >= 0; i-- {
		var err error
		if items[i], err = u.pop(); err != nil {
			return nil, err
		}
	}
	return items, nil
}

// unpickleLists reads an array of lists of integers, or a list of them.
func unpickleLists(program []byte) ([][]int, error) {
	v, err := unpickle(program)
	if err != nil {
		return nil, err
	}
	object, ok := v.(*pickleObject)
	if !ok {
		return nil, errPickle
	}
	state, ok := object.state.([]any) // version, shape, type, order, elements
	if !ok || len(state) != 5 {
		return nil, errPickle
	}
	rows, ok := state[4].(*pickleList)
	if !ok {
		return nil, errPickle
	}
	out := make([][]int, len(rows.items))
	total := 0
	for i, r := range rows.items {
		row, ok := r.(*pickleList)
		if !ok {
			return nil, fmt.Errorf("element %d of the array is a %T; expected a list of whole numbers", i, r)
		}
		if total += len(row.items); total > len(program) { // each was written with a byte at least, unless lists are repeated
			return nil, fmt.Errorf("the lists of the array hold more than %d numbers, which a file of %d bytes does not", total, len(program))
		}
		out[i] = make([]int, len(row.items))
		for j, e := range row.items {
			n, ok := e.(int64)
			if !ok || n < 0 || n > math.MaxInt32 {
				return nil, fmt.Errorf("element %d of list %d is %v; expected a whole number from 0", j, i, e)
			}
			out[i][j] = int(n)
		}
	}
	return out, nil
}
