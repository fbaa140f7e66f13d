package keras

import (
	"context"
	"testing"

	"github.com/gokeras/gokeras/data"
)

// BenchmarkOnBatch times one call on a batch of a small model, and counts what it leaves on the heap.
func BenchmarkOnBatch(b *testing.B) {
	m := steadyCase{source: inMemory}.start(b, 1).m
	batch, ctx := data.Arrays(features(steadyBatch, 6), labels(steadyBatch)), context.Background()
	for name, call := range map[string]func() error{
		"train":    func() error { _, err := m.TrainOnBatch(ctx, batch); return err },
		"test":     func() error { _, err := m.TestOnBatch(ctx, batch); return err },
		"predict":  func() error { _, err := m.PredictOnBatch(ctx, batch); return err },
		"evaluate": func() error { _, err := m.Evaluate(ctx, batch); return err },
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := call(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
