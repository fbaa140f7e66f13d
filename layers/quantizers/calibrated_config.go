package quantizers

import (
	"encoding/json"
	"fmt"
	"slices"
)

// GPTQConfig is the mode gptq: weights in few bits, column by column, where the error of each is made up for by those
// that come after it, as far as the inputs of the layer allow. It takes inputs to calibrate with, see
// keras.Model.QuantizeWith. The zero value is Keras's default.
//
// Source: Frantar et al., "GPTQ: Accurate Post-Training Quantization for Generative Pre-trained Transformers", ICLR
// 2023; behaviour of keras.quantizers.GPTQConfig, which takes the inverse of the whole Hessian for all columns, where
// the paper takes that of the columns that are left.
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

// AWQConfig is the mode awq: weights in four bits after inputs with large activations were given more of the range. It
// takes inputs to calibrate with, see keras.Model.QuantizeWith. The zero value is Keras's default.
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

// Calibrator is a configuration that takes inputs to calibrate with: *[GPTQConfig] or *[AWQConfig].
type Calibrator interface {
	Config
	// Needs says what Statistics must hold: the products of inputs, or their magnitudes.
	Needs() (products, magnitudes bool)
	// Examples is the number of examples to calibrate with, and the length of those that are cut out of a text.
	Examples() (samples, length int)
	// DTypePolicy is the mode as policies say it: "gptq/4/128".
	DTypePolicy() string
}

func (*GPTQConfig) Mode() string { return "gptq" }
func (*AWQConfig) Mode() string  { return "awq" }

// Weights and Activations are nil: the mode has a way of its own.
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

// Check reports settings that cannot be.
func (c *GPTQConfig) Check() error {
	if bits := or(c.WeightBits, 4); !slices.Contains([]int{2, 3, 4, 8}, bits) {
		return fmt.Errorf("quantizers: GPTQConfig: WeightBits must be 2, 3, 4 or 8, received %d", bits)
	}
	if d := c.damping(); !(d >= 0 && d <= 1) {
		return fmt.Errorf("quantizers: GPTQConfig: HessianDamping must be between 0 and 1, received %v", d)
	}
	return checkCalibrated("GPTQConfig", c.Samples, c.SequenceLength, c.GroupSize)
}

// Check reports settings that cannot be.
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

// What was calibrated with is not in files, as in Keras.
var calibrationKeys = []string{"dataset", "tokenizer", "quantization_layer_structure"}

// MigrateConfig leaves out what calibration took.
func (*GPTQConfig) MigrateConfig(keys map[string]json.RawMessage) error { return withoutData(keys) }

// MigrateConfig leaves out what calibration took.
func (*AWQConfig) MigrateConfig(keys map[string]json.RawMessage) error { return withoutData(keys) }

// AmendConfig writes the keys of what calibration took, as Keras does.
func (*GPTQConfig) AmendConfig(keys map[string]any) error { return noData(keys) }

// AmendConfig writes the keys of what calibration took, as Keras does.
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
