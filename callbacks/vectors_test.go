package callbacks_test

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/callbacks"
	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/internal/vectors"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
)

// What Keras prints while it trains a real classifier: the same loop, the same numbers, the same bytes.
func TestTrainingPrintsWhatKerasPrints(t *testing.T) {
	runs := 0
	for _, c := range vectors.Load(t, "text").Cases {
		if !slices.Contains([]string{"fit", "evaluate", "predict"}, c.Class) {
			continue
		}
		runs++
		t.Run(c.Name, func(t *testing.T) {
			var extra struct {
				Options struct {
					runOptions
					Verbose any
				}
				DynamicDisplay bool `json:"dynamic_display"`
				Text           string
			}
			c.DecodeExtra(t, &extra)
			verbose := 1
			if extra.Options.Verbose == 2.0 {
				verbose = 2
			}
			m, err := keras.ModelFromJSON(c.Config)
			require.NoError(t, err)
			arrays := make([]kernels.Array, len(c.Weights))
			for i, w := range c.Weights {
				arrays[i], err = kernels.FromFloat64s(ir.Float32, w.Shape, w.Data)
				require.NoError(t, err)
			}
			require.NoError(t, m.SetWeights(arrays))

			x, y := c.Input(t, "x"), c.Input(t, "y")
			inputs := data.Must(data.ArrayOf(x.Float32(), x.Shape...))
			var out bytes.Buffer
			at := &clock{now: 1000, step: 0.25}
			logger := callbacks.NewLoggerAt(verbose, &out, extra.DynamicDisplay, at.time)
			size, shown := keras.BatchSize(extra.Options.BatchSize), keras.Callbacks(logger)
			switch c.Class {
			case "fit":
				_, err = m.Fit(t.Context(), data.Arrays(inputs, y.Ints()), append(extra.Options.fit(), keras.Callbacks(logger))...)
			case "evaluate":
				_, err = m.Evaluate(t.Context(), data.Arrays(inputs, y.Ints()), size, shown)
			case "predict":
				_, err = m.Predict(t.Context(), data.Arrays(inputs, nil), size, shown)
			}
			require.NoError(t, err)
			require.Equal(t, printed(extra.Text, extra.DynamicDisplay, verbose), out.String())
		})
	}
	require.Greater(t, runs, 20)
}

// Bars with means, as a custom program shows them.
func TestProgbarVectors(t *testing.T) {
	bars := 0
	for _, c := range vectors.Load(t, "text").Cases {
		if c.Class != "Progbar" {
			continue
		}
		bars++
		t.Run(c.Name, func(t *testing.T) {
			var extra struct {
				Target         *int
				Width          int
				Verbose        int
				Unit           string    `json:"unit_name"`
				Stateful       *[]string `json:"stateful_metrics"`
				DynamicDisplay bool      `json:"dynamic_display"`
				Start          float64
				Calls          []struct {
					Now      float64
					Current  int
					Values   []json.RawMessage
					Finalize *bool
					Text     string
				}
			}
			c.DecodeExtra(t, &extra)
			var out bytes.Buffer
			at := &clock{now: extra.Start}
			bar := callbacks.NewBarAt(&out, orUnknown(extra.Target), extra.Verbose, extra.DynamicDisplay, at.time)
			bar.Width, bar.Unit = extra.Width, extra.Unit
			bar.Averaged = func(name string) bool { return extra.Stateful == nil || !slices.Contains(*extra.Stateful, name) }
			for _, call := range extra.Calls {
				logs := callbacks.NewLogs(nil)
				for _, pair := range call.Values {
					var name string
					var v number
					require.NoError(t, tuple(pair, &name, &v))
					logs.Append(name, float64(v))
				}
				at.now = call.Now
				out.Reset()
				finalize := extra.Target != nil && call.Current >= *extra.Target
				if call.Finalize != nil {
					finalize = *call.Finalize
				}
				bar.Update(call.Current, logs, finalize)
				require.Equal(t, printed(call.Text, extra.DynamicDisplay, extra.Verbose), out.String(), "%s at %v", strings.TrimSuffix(c.Name, "/float32"), call.Now)
			}
		})
	}
	require.Greater(t, bars, 30)
}
