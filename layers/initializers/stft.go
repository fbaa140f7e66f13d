package initializers

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
)

// STFT makes the kernels of a convolution that is a short-time Fourier transform. Row t and bin f of a kernel (frame,
// 1, bins) hold
//
//	w[t]·cos(-2π·t·f/n) / s   or   w[t]·sin(-2π·t·f/n) / s,   n = 2·(bins - 1)
//
// for Side "real" and "imag", with the window w and s = sqrt(Σw²) for Scaling "density", Σ|w| for "spectrum", 1 for
// "none" or without a window.
type STFT struct {
	Side     string `keras:"side,default=real"`       // "real" or "imag"; "" is "real"
	Window   string `keras:"window,default=hann"`     // "hann", "hamming", ..., see [Window], or "none"; "" is "hann"
	Scaling  string `keras:"scaling,default=density"` // "density", "spectrum" or "none"; "" is "density"
	Periodic bool   `keras:"periodic"`                // the window goes on periodically
	// Weights is a custom window, used instead of Window.
	Weights []float64 `keras:"-"`
}

// Initialize writes the kernel.
func (s STFT) Initialize(into kernels.Array, _ uint64) error {
	shape := into.Type.Shape
	if len(shape) != 3 || shape[1] != 1 || shape[2] < 2 {
		return fmt.Errorf("initializers.STFT makes kernels (frame, 1, bins) with at least two bins, received shape %v", shape)
	}
	frame, bins := shape[0], shape[2]
	n := 2 * (bins - 1)
	weights, scale := s.Weights, 1.0
	if weights == nil && s.Window != "none" {
		var err error
		if weights, err = Window(s.Window, frame, s.Periodic); err != nil {
			return err
		}
	}
	switch {
	case weights == nil:
		weights = slices.Repeat([]float64{1}, frame)
	case len(weights) != frame:
		return fmt.Errorf("initializers.STFT: the window has %d weights, the frame %d", len(weights), frame)
	default:
		squares, sum := 0.0, 0.0
		for _, w := range weights {
			squares, sum = squares+w*w, sum+math.Abs(w)
		}
		switch s.Scaling {
		case "", "density":
			scale = math.Sqrt(squares)
		case "spectrum":
			scale = sum
		case "none":
		default:
			return fmt.Errorf("initializers.STFT: unknown scaling %q; known: density, spectrum, none", s.Scaling)
		}
	}
	out := make([]float64, frame*bins)
	for t := range frame {
		for f := range bins {
			sin, cos := math.Sincos(2 * math.Pi * float64(t*f%n) / float64(n))
			switch s.Side {
			case "", "real":
				out[t*bins+f] = weights[t] * cos / scale
			case "imag":
				out[t*bins+f] = -weights[t] * sin / scale
			default:
				return fmt.Errorf("initializers.STFT: unknown side %q; known: real, imag", s.Side)
			}
		}
	}
	return into.SetFloat64s(0, out)
}

// cosineWindows holds the coefficients of windows Σ (-1)^k·a[k]·cos(2πk·i/(n-1)).
var cosineWindows = map[string][]float64{
	"": {0.5, 0.5}, "hann": {0.5, 0.5}, "hanning": {0.5, 0.5}, "hamming": {0.54, 0.46}, "blackman": {0.42, 0.50, 0.08}, "boxcar": {1}, "ones": {1}, "rectangular": {1},
	"nuttall": {0.3635819, 0.4891775, 0.1365995, 0.0106411}, "blackmanharris": {0.35875, 0.48829, 0.14128, 0.01168},
	"flattop": {0.21557895, 0.41663158, 0.277263158, 0.083578947, 0.006947368},
}

// Window returns a window of n weights by its name in SciPy: "hann", "hamming", "blackman", "blackmanharris",
// "nuttall", "flattop", "boxcar", "bartlett" or "cosine"; "" is "hann". A periodic window consists of the first n of
// n+1 weights.
func Window(name string, n int, periodic bool) ([]float64, error) {
	if n < 0 || n > ir.MaxTable {
		return nil, fmt.Errorf("initializers: a window of %d numbers; expected 0 to %d", n, ir.MaxTable)
	}
	total := n
	if periodic {
		total++
	}
	out := make([]float64, n)
	coefficients, cosines := cosineWindows[name]
	if !cosines && name != "bartlett" && name != "cosine" {
		return nil, fmt.Errorf("initializers: unknown window %q; known: hann, hamming, blackman, blackmanharris, nuttall, flattop, boxcar, bartlett, cosine", name)
	}
	for i := range out {
		u := float64(i) / float64(max(total-1, 1))
		switch {
		case total == 1:
			out[i] = 1
		case name == "bartlett":
			out[i] = 1 - math.Abs(2*u-1)
		case name == "cosine":
			out[i] = math.Sin(math.Pi * (float64(i) + 0.5) / float64(total))
		default:
			sign := 1.0
			for k, a := range coefficients {
				out[i] += sign * a * math.Cos(2*math.Pi*float64(k)*u)
				sign = -sign
			}
		}
	}
	return out, nil
}

// MigrateConfig reads null values and windows given as numbers.
func (s *STFT) MigrateConfig(keys map[string]json.RawMessage) error {
	for _, key := range []string{"window", "scaling"} {
		if string(keys[key]) == "null" {
			keys[key] = json.RawMessage(`"none"`)
		}
	}
	var weights []float64
	if raw, ok := keys["window"]; ok && json.Unmarshal(raw, &weights) == nil {
		s.Weights = weights
		delete(keys, "window")
	}
	return nil
}

// AmendConfig writes null values and windows given as numbers, as Keras does.
func (s *STFT) AmendConfig(keys map[string]any) error {
	for _, key := range []string{"window", "scaling"} {
		if keys[key] == "none" {
			keys[key] = nil
		}
	}
	if s.Weights != nil {
		keys["window"] = s.Weights
	}
	return nil
}
