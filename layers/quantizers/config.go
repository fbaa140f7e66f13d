package quantizers

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/gokeras/gokeras/internal/config"
)

// Modes are the kinds of quantization by name.
var modes = []string{"int8", "int4", "float8"}

// calibrated holds the configurations of the modes that need data.
var calibratedModes = map[string]string{"gptq": "GPTQConfig", "awq": "AWQConfig"}

// Config says how a layer or a model is quantized: *[Int8QuantizationConfig], *[Int4QuantizationConfig],
// *[Float8QuantizationConfig], *[GPTQConfig] or *[AWQConfig].
type Config interface {
	// Mode is "int8", "int4", "float8", "gptq" or "awq".
	Mode() string
	// Weights and Activations are the quantizers. nil means the layer's own for weights, and none for activations.
	Weights() Quantizer
	Activations() Quantizer
	// Check reports invalid settings.
	Check() error
}

// Int8QuantizationConfig is the mode int8: weights and activations in eight bits, sums in 32. The zero value is Keras's
// default.
type Int8QuantizationConfig struct {
	WeightQuantizer     Quantizer `keras:"weight_quantizer"`     // nil: an AbsMaxQuantizer with one scale for each output
	ActivationQuantizer Quantizer `keras:"activation_quantizer"` // nil: an AbsMaxQuantizer with one scale for each row
	WeightsOnly         bool      `keras:"-"`                    // activations stay floats
}

// Int4QuantizationConfig is the mode int4: weights in four bits, two in a byte, and activations unchanged. The zero
// value is Keras's default.
type Int4QuantizationConfig struct {
	WeightQuantizer     Quantizer `keras:"weight_quantizer"`     // with BlockSize -1 only; its range is -8 to 7
	ActivationQuantizer Quantizer `keras:"activation_quantizer"` // with BlockSize -1 only; nil: activations stay floats
	// BlockSize is the number of inputs that share a scale and a zero in each output. 0 means 128; -1 means one scale
	// for each output, without a zero.
	BlockSize int `keras:"block_size,default=128"`
}

// Float8QuantizationConfig is the mode float8: training with products of numbers of eight bits.
type Float8QuantizationConfig struct{}

func (*Int8QuantizationConfig) Mode() string   { return "int8" }
func (*Int4QuantizationConfig) Mode() string   { return "int4" }
func (*Float8QuantizationConfig) Mode() string { return "float8" }

func (c *Int8QuantizationConfig) Weights() Quantizer { return c.WeightQuantizer }
func (c *Int8QuantizationConfig) Activations() Quantizer {
	switch {
	case c.WeightsOnly:
		return nil
	case c.ActivationQuantizer == nil:
		return &AbsMaxQuantizer{}
	}
	return c.ActivationQuantizer
}

func (c *Int4QuantizationConfig) Weights() Quantizer       { return c.WeightQuantizer }
func (c *Int4QuantizationConfig) Activations() Quantizer   { return c.ActivationQuantizer }
func (c *Float8QuantizationConfig) Weights() Quantizer     { return nil }
func (c *Float8QuantizationConfig) Activations() Quantizer { return nil }
func (c *Float8QuantizationConfig) Check() error           { return nil }

// Check reports quantizers that do not give int8.
func (c *Int8QuantizationConfig) Check() error {
	return checkQuantizers(c.WeightQuantizer, c.ActivationQuantizer)
}

// Check reports an invalid block size, and quantizers together with blocks.
func (c *Int4QuantizationConfig) Check() error {
	if c.BlockSize < -1 {
		return fmt.Errorf("quantizers: BlockSize must be a positive number, 0 for 128, or -1 for one scale for each output, received %d", c.BlockSize)
	}
	if c.BlockSize >= 0 && (c.WeightQuantizer != nil || c.ActivationQuantizer != nil) {
		return fmt.Errorf("quantizers: blocks of %d cannot be combined with custom quantizers; set BlockSize to -1, or omit WeightQuantizer and ActivationQuantizer", c.Block())
	}
	if q, ok := c.WeightQuantizer.(*AbsMaxQuantizer); ok && !slices.Equal(q.ValueRange, []int{-8, 7}) {
		return fmt.Errorf("quantizers: the WeightQuantizer of int4 must have the ValueRange -8 to 7, received %v", q.ValueRange)
	}
	return checkQuantizers(c.WeightQuantizer, c.ActivationQuantizer)
}

// Block returns BlockSize or its default.
func (c *Int4QuantizationConfig) Block() int {
	if c.BlockSize == 0 {
		return 128
	}
	return c.BlockSize
}

func checkQuantizers(all ...Quantizer) error {
	for _, q := range all {
		a, ok := q.(*AbsMaxQuantizer)
		if !ok {
			continue
		}
		if _, _, _, _, err := a.settings(); err != nil {
			return err
		}
		if a.OutputDType != "" && a.OutputDType != "int8" {
			return fmt.Errorf("quantizers: the quantizers of weights and activations must give int8, received OutputDType %q", a.OutputDType)
		}
	}
	return nil
}

// MigrateConfig reads null as no activation quantizer. If the key is missing, it is the default one.
func (c *Int8QuantizationConfig) MigrateConfig(keys map[string]json.RawMessage) error {
	raw, found := keys["activation_quantizer"]
	c.WeightsOnly = found && string(raw) == "null"
	return nil
}

// AmendConfig writes the default activation quantizer, as Keras does.
func (c *Int8QuantizationConfig) AmendConfig(keys map[string]any) error {
	a := c.Activations()
	if a == nil {
		keys["activation_quantizer"] = nil
		return nil
	}
	o, err := config.EncodeObject(a)
	keys["activation_quantizer"] = o
	return err
}

// MigrateConfig reads a block size of null, and a missing one, as one scale for each output.
func (c *Int4QuantizationConfig) MigrateConfig(keys map[string]json.RawMessage) error {
	if raw, found := keys["block_size"]; !found || string(raw) == "null" {
		keys["block_size"] = json.RawMessage("-1")
	}
	return nil
}

// Resolve returns the configuration that v stands for and checks it: one with Keras's defaults given by its mode
// ("int8", "int4", "float8"), or the value itself.
func Resolve(how any) (Config, error) {
	switch how := how.(type) {
	case string:
		switch how {
		case "int8":
			return &Int8QuantizationConfig{}, nil
		case "int4":
			return &Int4QuantizationConfig{}, nil
		case "float8":
			return &Float8QuantizationConfig{}, nil
		}
		if name := calibratedModes[how]; name != "" {
			return nil, fmt.Errorf("quantizers: the mode %q calibrates with data; call QuantizeWith of the model, with &quantizers.%s{} and a keras.Calibration", how, name)
		}
		return nil, fmt.Errorf("quantizers: unknown mode %q; %sexpected one of %s, or a configuration such as &quantizers.Int4QuantizationConfig{BlockSize: 64}", how, config.Guess(how, modes), strings.Join(modes, ", "))
	case Config:
		if v := reflect.ValueOf(how); v.Kind() == reflect.Pointer && v.IsNil() {
			return nil, fmt.Errorf("quantizers: received a nil %T; pass a configuration or the name of a mode", how)
		}
		return how, how.Check()
	}
	return nil, fmt.Errorf("quantizers: received %s; expected the name of a mode (%s) or a configuration such as &quantizers.Int8QuantizationConfig{}", config.Received(how), strings.Join(modes, ", "))
}

// Get returns the quantizer that v stands for: a value, or the name of AbsMaxQuantizer. nil gives nil.
func Get(quantizer any) (Quantizer, error) {
	switch q := config.Given(quantizer).(type) {
	case nil:
		return nil, nil
	case Quantizer:
		return q, nil
	case string:
		if q == "AbsMaxQuantizer" || q == "abs_max_quantizer" {
			return &AbsMaxQuantizer{}, nil
		}
		return nil, fmt.Errorf("quantizers: unknown quantizer %q; known: AbsMaxQuantizer", q)
	case config.Object:
		if q.ClassName != "AbsMaxQuantizer" {
			return nil, fmt.Errorf("quantizers: unknown quantizer %q; known: AbsMaxQuantizer", q.ClassName)
		}
		a := &AbsMaxQuantizer{}
		if err := config.Decode(q.Config, a); err != nil {
			return nil, err
		}
		_, _, _, _, err := a.settings()
		return a, err
	}
	return nil, fmt.Errorf("quantizers: received %s; expected a name (string) or a value with the methods of quantizers.Quantizer", config.Received(quantizer))
}

func resolveConfig(v any) (any, error) {
	if v == nil {
		return nil, nil
	}
	o, ok := v.(config.Object)
	if !ok {
		return Resolve(v)
	}
	var c Config
	switch o.ClassName {
	case "Int8QuantizationConfig":
		c = &Int8QuantizationConfig{}
	case "Int4QuantizationConfig":
		c = &Int4QuantizationConfig{}
	case "Float8QuantizationConfig":
		c = &Float8QuantizationConfig{}
	case "GPTQConfig":
		c = &GPTQConfig{}
	case "AWQConfig":
		c = &AWQConfig{}
	default:
		return nil, fmt.Errorf("quantizers: the configuration %s is not supported; known: Int8QuantizationConfig, Int4QuantizationConfig, Float8QuantizationConfig, GPTQConfig, AWQConfig", o.ClassName)
	}
	if err := config.Decode(o.Config, c); err != nil {
		return nil, err
	}
	return c, c.Check()
}

func init() {
	config.RegisterKind("quantization_config", resolveConfig)
	config.RegisterKind("quantizer", func(v any) (any, error) {
		q, err := Get(v)
		if q == nil {
			return nil, err
		}
		return q, err
	})
}

// Deserialize reads the object of a configuration in a Keras file, {"class_name": "Int8QuantizationConfig", "config":
// {...}}.
func Deserialize(raw json.RawMessage) (Config, error) {
	o, err := config.ParseObject(raw)
	if err != nil {
		return nil, fmt.Errorf("quantizers: %w", err)
	}
	c, err := resolveConfig(o)
	if err != nil {
		return nil, err
	}
	return c.(Config), nil
}

// Serialize returns the object that Keras writes for a configuration or a quantizer.
func Serialize(v any) (map[string]any, error) {
	switch v.(type) {
	case Config, Quantizer:
		return config.EncodeObject(v)
	}
	return nil, fmt.Errorf("quantizers: received %s; expected a configuration or a quantizer", config.Received(v))
}
