package randomnets

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/layers"
)

// apart predicts a batch of many examples, some of which have no numbers or infinite ones, and each of the others
// alone: what lies beside an example changes nothing about it.
func (c *recording) apart(path string) error {
	m, err := keras.LoadModel(path)
	if err != nil {
		return err
	}
	for _, l := range m.Layers() {
		if mel, ok := l.(*layers.MelSpectrogram); ok && !mel.NoPowerToDB {
			return nil // its decibels are relative to the largest of the batch, as Keras's are
		}
	}
	r := rand.New(rand.NewPCG(uint64(c.Seed), 11))
	rows := make([]drawnRow, 3+r.IntN(38))
	for i := range rows {
		rows[i].from = r.IntN(c.X[0].Shape[0])
		if r.IntN(5) == 0 {
			rows[i].spoilt = []float64{math.NaN(), math.Inf(1), math.Inf(-1)}[r.IntN(3)]
		}
	}
	many, err := c.gather(rows)
	if err != nil {
		return err
	}
	beside, err := m.PredictAll(context.Background(), data.Arrays(many, nil), keras.BatchSize(len(rows)))
	if err != nil {
		if strings.Contains(err.Error(), "valid indices are") {
			return nil // an infinite number is not the number of a row
		}
		return fmt.Errorf("a batch of %d: %w", len(rows), err)
	}
	for i, row := range rows {
		if row.spoilt != 0 {
			continue
		}
		one, err := c.gather([]drawnRow{row})
		if err != nil {
			return err
		}
		alone, err := m.PredictAll(context.Background(), data.Arrays(one, nil))
		if err != nil {
			return fmt.Errorf("example %d alone: %w", i, err)
		}
		for o := range alone {
			want := typed{DType: alone[o].Type.DType.String(), Data: finite(alone[o].Float64s())}
			got := beside[o].Float64s()
			if text := want.differs(got[i*len(want.Data) : (i+1)*len(want.Data)]); text != "" {
				return fmt.Errorf("output %d of example %d among %d, beside its own alone: %s", o, i, len(rows), text)
			}
		}
	}
	return nil
}

// drawnRow is an example of a batch.
type drawnRow struct {
	from   int     // the example of the recording
	spoilt float64 // what all its numbers are instead, NaN or infinite; 0: they are as recorded
}

// gather makes a batch of the recorded inputs.
func (c *recording) gather(rows []drawnRow) (any, error) {
	var batch []typed
	for _, x := range c.X {
		part := typed{DType: x.DType, Shape: append([]int{len(rows)}, x.Shape[1:]...)}
		size := len(x.Data) / x.Shape[0]
		for _, row := range rows {
			for _, v := range x.Data[row.from*size : (row.from+1)*size] {
				if row.spoilt != 0 && strings.Contains(x.DType, "float") {
					v = &row.spoilt
				}
				part.Data = append(part.Data, v)
			}
		}
		batch = append(batch, part)
	}
	return arrays(batch)
}

// finite are numbers as they are recorded.
func finite(values []float64) []*float64 {
	out := make([]*float64, len(values))
	for i, v := range values {
		if !math.IsNaN(v) && !math.IsInf(v, 0) {
			out[i] = &values[i]
		}
	}
	return out
}
