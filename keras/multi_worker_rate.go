package keras

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/gokeras/gokeras/distribute"
)

// Workers compare their learning rates in the call that joins their flags, by the greatest of each byte: a rate goes
// with its complement, and workers that have none to compare, such as one that has just taken over the state of
// another, send zeros.

const rateBytes = 4

// putRate writes a rate and its complement.
func putRate(b []byte, rate float32) {
	bits := math.Float32bits(rate)
	binary.LittleEndian.PutUint32(b, bits)
	binary.LittleEndian.PutUint32(b[rateBytes:], ^bits)
}

// oneRate reports whether the rates of which b has the greatest bytes were one, or none.
func oneRate(b []byte) bool {
	rate, complement := binary.LittleEndian.Uint32(b), binary.LittleEndian.Uint32(b[rateBytes:])
	return rate == ^complement || rate == 0 && complement == 0
}

// otherRate is the error of workers with different rates, which shows two of them.
func (t *trainer) otherRate(ctx context.Context) error {
	rate, err := t.m.LearningRate()
	if err != nil {
		return err
	}
	err = t.workers.group.Agree(ctx, distribute.WorkerCall{Name: fmt.Sprintf("end of epoch with learning rate %v", rate)})
	if err == nil {
		err = errors.New("the callbacks of the workers have set different learning rates; let them set the same one on all")
	}
	return err
}
