package quantizers

import (
	"encoding/json"
	"fmt"
	"slices"
)

// GPTQConfig is the mode gptq: weights are quantized to few bits column by column, and later columns compensate for the
// error of earlier ones as far as the inputs of the layer allow. It needs inputs to calibrate with; see
// keras.Model.QuantizeWith. The zero value is Keras's default.
//
// Source: Frantar et al., "GPTQ: Accurate Post-Training Quantization for Generative Pre-trained Transformers", ICLR
// 2023; behaviour of keras.quantizers.GPTQConfig, which uses the inverse of the whole Hessian for all columns, whereas
// the paper uses that of the remaining columns.
type GPTQConfig struct {
	WeightBits      int      `keras:"weight_bits,default=4"`        // 2, 3, 4 or 8; 0 is 4
	Samples         int      `keras:"num_samples,default=128"`      // examples to calibrate with, at most; 0 is 128
	PerTensor       bool     `keras:"per_channel,not"`              // outputs share scale and zero
	SequenceLength  int      `keras:"sequence_length,default=512"`  // of the examples that are cut out of a text; 0 is 512
	HessianDamping  *float64 `keras:"hessian_damping,default=0.01"` // added to the diagonal, times its mean; between 0 and 1; nil is 0.01
	GroupSize       int      `keras:"group_size,default=128"`       // inputs that share a scale and a zero in each output; 0 is 128, -1 is all
	Symmetric       bool     `keras:"symmetric"`                    // the range of the weights is created symmetric about zero
	ActivationOrder bool     `keras:"activation_order"`             // inputs with the largest activations come first
}

// AWQConfig is the mode awq: weights are quantized to four bits after inputs with large activations were given more of
// the range. It needs inputs to calibrate with; see keras.Model.QuantizeWith. The zero value is Keras's default.
//
// Source: Lin et al., "AWQ: Activation-aware Weight Quantization for LLM Compression and Acceleration", MLSys 2024;
// behaviour of keras.quantizers.AWQConfig.
type AWQConfig struct {
	WeightBits     int `keras:"weight_bits,default=4"`       // 4; 0 is 4
	Samples        int `keras:"num_samples,default=128"`     // examples to calibrate with, at most; 0 is 128
	SequenceLength int `keras:"sequence_length,default=512"` // of the examples that are cut out of a text; 0 is 512
	GroupSize      int `keras:"group_size,default=128"`      // inputs that share a scale and a zero in each output; 0 is 128, -1 is all
	GridPoints     int `keras:"num_grid_points,default=20"`  // exponents between 0 and 1 that are tried; 0 is 20
}

// Calibrator is a configuration that needs inputs to calibrate with: *[GPTQConfig] or *[AWQConfig].
type Calibrator interface {
	Config
	// Needs says what Statistics must hold: the products of inputs, or their magnitudes.
	Needs() (products, magnitudes bool)
	// Examples returns the number of examples to calibrate with, and their length if they are cut out of a text.
	Examples() (samples, length int)
	// DTypePolicy returns the mode as policies write it: "gptq/4/128".
	DTypePolicy() string
}

func (*GPTQConfig) Mode() string { return "gptq" }
func (*AWQConfig) Mode() string  { return "awq" }

// Weights and Activations are nil, because the mode does not use such quantizers.
func (*GPTQConfig) Weights() Quantizer     { return nil }
func (*GPTQConfig) Activations() Quantizer { return nil }
func (*AWQConfig) Weights() Quantizer      { return nil }
func (*AWQConfig) Activations() Quantizer  { return nil }

func (*GPTQConfig) Needs() (products, magnitudes bool) { return true, false }
func (*AWQConfig) Needs() (products, magnitudes bool)  { return false, true }

func (c *GPTQConfig) Examples() (samples, length int) {
	return or(c.Samples, 128), or(c.SequenceLength, 512)
}
func (c *AWQConfig) Examples() (samples, length int) {
	return or(c.Samples, 128), or(c.SequenceLength, 512)
}

func (c *GPTQConfig) DTypePolicy() string {
	return fmt.Sprintf("gptq/%d/%d", or(c.WeightBits, 4), or(c.GroupSize, 128))
}
func (c *AWQConfig) DTypePolicy() string {
	return fmt.Sprintf("awq/%d/%d", or(c.WeightBits, 4), or(c.GroupSize, 128))
}

func (c *GPTQConfig) damping() float64 {
	if c.HessianDamping == nil {
		return 0.01
	}
	return *c.HessianDamping
}

func or(n, otherwise int) int {
	if n == 0 {
		return otherwise
	}
	return n
}

// Check reports invalid settings.
func (c *GPTQConfig) Check() error {
	if bits := or(c.WeightBits, 4); !slices.Contains([]int{2, 3, 4, 8}, bits) {
		return fmt.Errorf("quantizers: GPTQConfig: WeightBits must be 2, 3, 4 or 8, received %d", bits)
	}
	if d := c.damping(); !(d >= 0 && d <= 1) {
		return fmt.Errorf("quantizers: GPTQConfig: HessianDamping must be between 0 and 1, received %v", d)
	}
	return checkCalibrated("GPTQConfig", c.Samples, c.SequenceLength, c.GroupSize)
}

// Check reports invalid settings.
func (c *AWQConfig) Check() error {
	if bits := or(c.WeightBits, 4); bits != 4 {
		return fmt.Errorf("quantizers: AWQConfig: WeightBits must be 4, received %d", bits)
	}
	if c.GridPoints < 0 || c.GridPoints > 1<<16 {
		return fmt.Errorf("quantizers: AWQConfig: GridPoints must be between 1 and 65536, or 0 for 20, received %d", c.GridPoints)
	}
	return checkCalibrated("AWQConfig", c.Samples, c.SequenceLength, c.GroupSize)
}

func checkCalibrated(name string, samples, length, group int) error {
	switch {
	case samples < 0:
		return fmt.Errorf("quantizers: %s: Samples must be positive, or 0 for 128, received %d", name, samples)
	case length < 0:
		return fmt.Errorf("quantizers: %s: SequenceLength must be positive, or 0 for 512, received %d", name, length)
	case group < -1:
		return fmt.Errorf("quantizers: %s: GroupSize must be positive, 0 for 128, or -1 for one scale for each output, received %d", name, group)
	}
	return nil
}

// As in Keras, the calibration data is not in files.
var calibrationKeys = []string{"dataset", "tokenizer", "quantization_layer_structure"}

// MigrateConfig drops the keys of the calibration data.
func (*GPTQConfig) MigrateConfig(keys map[string]json.RawMessage) error { return withoutData(keys) }

// MigrateConfig drops the keys of the calibration data.
func (*AWQConfig) MigrateConfig(keys map[string]json.RawMessage) error { return withoutData(keys) }

// AmendConfig writes the keys of the calibration data, as Keras does.
func (*GPTQConfig) AmendConfig(keys map[string]any) error { return noData(keys) }

// AmendConfig writes the keys of the calibration data, as Keras does.
func (*AWQConfig) AmendConfig(keys map[string]any) error { return noData(keys) }

func withoutData(keys map[string]json.RawMessage) error {
	for _, k := range calibrationKeys {
		delete(keys, k)
	}
	return nil
}

func noData(keys map[string]any) error {
	for _, k := range calibrationKeys {
		keys[k] = nil
	}
	return nil
}
