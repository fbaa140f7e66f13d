package partitioners

import (
	"fmt"
	"strconv"

	"github.com/gokeras/gokeras/kernels/ir"
)

// Shard is a range of the rows of a variable.
type Shard struct {
	Name        string // "kernel", or "kernel/part_0" of several
	First, Rows int
}

// Cut asks a partitioner about a variable and returns its shards, in order. There are k = min(parts, rows) shards of
// ⌊rows/k⌋ rows each; the first rows mod k shards have one row more. Scalars, variables without rows, variables of one
// part, and all variables if there is no partitioner stay whole. A panic or an invalid answer of the partitioner is an
// error.
func Cut(p Partitioner, name string, shape ir.Shape, elementBytes int) ([]Shard, error) {
	if len(shape) == 0 {
		return []Shard{{Name: name, Rows: 1}}, nil
	}
	rows := shape[0]
	if p == nil || rows == 0 {
		return []Shard{{Name: name, Rows: rows}}, nil
	}
	parts, err := ask(p, shape, elementBytes)
	if err != nil {
		return nil, fmt.Errorf("partitioners: the partitioner for variable %s of shape %v: %w", name, shape, err)
	}
	if err := checkParts(parts, shape); err != nil {
		return nil, fmt.Errorf("partitioners: the partitioner for variable %s of shape %v %w", name, shape, err)
	}
	k := min(parts[0], rows)
	if k == 1 {
		return []Shard{{Name: name, Rows: rows}}, nil
	}
	shards := make([]Shard, k)
	first := 0
	for i := range shards {
		n := rows / k
		if i < rows%k {
			n++
		}
		shards[i] = Shard{Name: name + "/part_" + strconv.Itoa(i), First: first, Rows: n}
		first += n
	}
	return shards, nil
}

func ask(p Partitioner, shape ir.Shape, elementBytes int) (parts []int, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("it panicked: %v", r)
		}
	}()
	return p.Partition(shape.Clone(), elementBytes)
}

func checkParts(parts []int, shape ir.Shape) error {
	bad := len(parts) == 0 || len(parts) > len(shape) || parts[0] < 1
	for i := 1; i < len(parts); i++ {
		bad = bad || parts[i] != 1
	}
	if bad {
		return fmt.Errorf("returned %v; expected a list of at most %d numbers, one for each axis, of which the first is at least 1 and the others are 1", parts, len(shape))
	}
	return nil
}

// Of returns the shard that holds a row, and the number of the row in it.
func Of(shards []Shard, row int) (shard, inside int) {
	low, high := 0, len(shards)-1
	for low < high {
		middle := (low + high + 1) / 2
		if shards[middle].First <= row {
			low = middle
		} else {
			high = middle - 1
		}
	}
	return low, row - shards[low].First
}
