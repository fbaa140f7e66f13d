package keras_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/distribute/parameterserver"
	"github.com/gokeras/gokeras/distribute/partitioners"
	"github.com/gokeras/gokeras/keras"
)

// roundSteps is the number of rounds in an epoch.
const roundSteps = 2

// fitted is the number of examples for Fit. With rounds it is a multiple of a round, because parts of different sizes
// have equal weight.
func (d *drawnRun) fitted(batch int) int {
	if d.parts == 0 {
		return d.examples
	}
	return roundSteps * d.parts * batch
}

// roundOptions give each replica the work of one closure of a round: one batch.
func (d *drawnRun) roundOptions(options []keras.FitOption, batch int) []keras.FitOption {
	if _, servers := d.s.(*distribute.ParameterServerStrategy); !servers {
		batch *= d.parts
	}
	return append(slices.Clone(options), keras.BatchSize(batch), keras.StepsPerEpoch(roundSteps))
}

// drawRounds is drawRun for rounds of several closures: it avoids what depends on the number of examples in a part.
func drawRounds(seed uint64) *drawnRun {
	d := drawRun(seed, true)
	d.parts = 2 + int(seed%2)
	for i, kind := range d.kinds {
		if kind == "masked" {
			d.kinds[i] = "sequence"
		}
	}
	return d
}

// TestRandomRounds trains random models in rounds of several closures on parameter servers, with fewer workers and with
// as many, which are lost in between and come back. The results are those of as many replicas. The layers also assign
// trained weights, with all kinds of aggregation.
func TestRandomRounds(t *testing.T) {
	runs := *strategyRuns
	if testing.Short() {
		runs = min(runs, 4)
	}
	for i := range uint64(runs) {
		seed := *strategySeed + 40 + i
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			d := drawRounds(seed)
			d.dir = t.TempDir()
			want, failed := d.run(t.Context(), tfStrategy(t, "Mirrored", d.parts))
			change := func(o *parameterserver.Options) {
				o.VariablePartitioner = partitioners.FixedShards{Shards: 2}
				o.Consistency = parameterserver.Consistency{Synchronous: true, Replicas: d.parts}
			}
			r := d.random(7)
			var pauses []time.Duration
			for range r.IntN(3) {
				pauses = append(pauses, time.Duration(1+r.IntN(60))*time.Millisecond)
			}
			err := withFaults(t, 1+int(seed)%d.parts, 2, change, func(ctx context.Context, s *distribute.ParameterServerStrategy) error {
				got, err := d.run(ctx, s)
				if err == nil && failed == nil && s.IsCoordinator() {
					if text := d.same(want, got); text != "" {
						return errors.New(text)
					}
				}
				return err
			}, pauses)
			switch {
			case err != nil && failed == nil:
				t.Fatalf("%v\n%d parts\n%s", err, d.parts, d.story())
			case err == nil && failed != nil:
				t.Fatalf("no error, though with %d replicas: %v\n%s", d.parts, failed, d.story())
			}
		})
	}
}
