// Package partitioners decides into how many shards the variables of a parameter server strategy are divided, as
// tf.distribute.experimental.partitioners does.
//
// A partitioner is called once for each new variable. It returns the number of parts along each axis; variables are
// divided along axis 0 only, so a shard is a range of rows. [Cut] turns the answer into the rows of each shard.
package partitioners

import (
	"errors"
	"fmt"

	"github.com/gokeras/gokeras/kernels/ir"
)

// Partitioner says into how many parts a variable is cut.
type Partitioner interface {
	// Partition returns the number of parts along each axis of a variable of the given shape, whose elements take
	// elementBytes each. The strategies accept lists of at most the rank in which only the first number may differ from
	// 1.
	Partition(shape ir.Shape, elementBytes int) ([]int, error)
}

// Func adapts a function to a Partitioner.
type Func func(shape ir.Shape, elementBytes int) ([]int, error)

// Partition calls the function.
func (f Func) Partition(shape ir.Shape, elementBytes int) ([]int, error) {
	if f == nil {
		return nil, errors.New("partitioners: the function is nil")
	}
	return f(shape, elementBytes)
}

// FixedShards cuts every variable into the same number of shards, or into one shard per row if it has fewer rows.
type FixedShards struct {
	Shards int
	Axis   int // that is cut; negative numbers count from the end. Strategies take 0 only
}

// Partition implements [Partitioner].
func (p FixedShards) Partition(shape ir.Shape, _ int) ([]int, error) {
	axis, parts, err := begin(shape, p.Axis)
	if err != nil {
		return nil, err
	}
	parts[axis] = min(p.Shards, shape[axis])
	return parts, nil
}

// MinSize cuts a variable into as many shards as possible with at least MinShardBytes each (up to rounding), at most
// MaxShards:
//
//	parts = min(⌈bytes / MinShardBytes⌉, MaxShards, rows)
type MinSize struct {
	MinShardBytes int // 0: 256 KiB
	MaxShards     int // 0: 1, so that nothing is cut
	Axis          int // that is cut; negative numbers count from the end. Strategies take 0 only
}

// Partition implements [Partitioner].
func (p MinSize) Partition(shape ir.Shape, elementBytes int) ([]int, error) {
	least, most := p.MinShardBytes, p.MaxShards
	if least == 0 {
		least = 256 << 10
	}
	if most == 0 {
		most = 1
	}
	if least < 0 || most < 0 {
		return nil, fmt.Errorf("partitioners: MinSize{MinShardBytes: %d, MaxShards: %d}: both must be positive, or 0 for the defaults", p.MinShardBytes, p.MaxShards)
	}
	axis, parts, err := begin(shape, p.Axis)
	if err != nil {
		return nil, err
	}
	bytes := ir.MulLengths(shape.Size(), elementBytes)
	parts[axis] = max(min(ceil(bytes, least), most, shape[axis]), 1)
	return parts, nil
}

// MaxSize cuts a variable into the fewest shards of at most MaxShardBytes each, but at most MaxShards. A shard has at
// least one row:
//
//	parts = min(⌈rows / max(⌊MaxShardBytes / bytes of a row⌋, 1)⌉, MaxShards)
type MaxSize struct {
	MaxShardBytes int // required
	MaxShards     int // 0: any number
	Axis          int // that is cut; negative numbers count from the end. Strategies take 0 only
}

// Partition implements [Partitioner].
func (p MaxSize) Partition(shape ir.Shape, elementBytes int) ([]int, error) {
	if p.MaxShardBytes < 1 || p.MaxShards < 0 {
		return nil, fmt.Errorf("partitioners: MaxSize{MaxShardBytes: %d, MaxShards: %d}: MaxShardBytes must be positive, and MaxShards positive or 0 for any number", p.MaxShardBytes, p.MaxShards)
	}
	axis, parts, err := begin(shape, p.Axis)
	if err != nil {
		return nil, err
	}
	if shape[axis] == 0 {
		return parts, nil
	}
	row := ir.MulLengths(shape.Size()/shape[axis], elementBytes)
	rows := max(p.MaxShardBytes/max(row, 1), 1)
	parts[axis] = ceil(shape[axis], rows)
	if p.MaxShards > 0 {
		parts[axis] = min(parts[axis], p.MaxShards)
	}
	return parts, nil
}

// begin returns the axis to cut, and 1 for all.
func begin(shape ir.Shape, axis int) (int, []int, error) {
	if axis < 0 {
		axis += len(shape)
	}
	if axis < 0 || axis >= len(shape) {
		return 0, nil, fmt.Errorf("partitioners: a variable of shape %v has no axis %d to cut; leave it whole", shape, axis)
	}
	parts := make([]int, len(shape))
	for i := range parts {
		parts[i] = 1
	}
	return axis, parts, nil
}

func ceil(a, b int) int {
	if a <= 0 {
		return 0
	}
	return (a-1)/b + 1
}
