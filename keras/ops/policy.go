package ops

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/gokeras/gokeras/kernels/ir"
)

// DTypePolicy says in which type a layer computes and in which type it stores its variables.
type DTypePolicy struct {
	Name         string
	Compute      ir.DType
	Variable     ir.DType
	Quantization Quantization

	// Map gives layers other policies by their paths; nil: this policy applies to all. See [DTypePolicyMap].
	Map *DTypePolicyMap
}

// Quantization is what a dtype policy says about weights stored in fewer bits: "int8_from_float32",
// "int4/128_from_mixed_bfloat16".
type Quantization struct {
	Mode    string // "int8", "int4", "float8", "gptq" or "awq"; "": none
	Bits    int    // of gptq and awq: bits of each weight
	Block   int    // of int4, gptq and awq: the inputs that share a scale; -1: all
	History int    // of float8: the number of steps whose largest values determine the scale
}

// dtypePolicies are Keras's policies for floats: one type for both, or half-precision arithmetic with float32
// variables.
var dtypePolicies = map[string]DTypePolicy{
	"float16":        {Name: "float16", Compute: ir.Float16, Variable: ir.Float16},
	"bfloat16":       {Name: "bfloat16", Compute: ir.BFloat16, Variable: ir.BFloat16},
	"float32":        {Name: "float32", Compute: ir.Float32, Variable: ir.Float32},
	"float64":        {Name: "float64", Compute: ir.Float64, Variable: ir.Float64},
	"mixed_float16":  {Name: "mixed_float16", Compute: ir.Float16, Variable: ir.Float32},
	"mixed_bfloat16": {Name: "mixed_bfloat16", Compute: ir.BFloat16, Variable: ir.Float32},
}

// ParseDTypePolicy returns the policy of the given name; "" is float32. The name of an integer type gives a policy of
// that type, for layers that pass integers on. The string of a [DTypePolicyMap] gives its default policy with the map.
func ParseDTypePolicy(name string) (DTypePolicy, error) {
	if name == "" {
		name = "float32"
	}
	if m, err := ParseDTypePolicyMap(name); m != nil || err != nil {
		if err != nil {
			return DTypePolicy{}, err
		}
		p, err := ParseDTypePolicy(m.Default())
		p.Name, p.Map = "map_"+p.Name, m
		return p, err
	}
	if mode, source, ok := strings.Cut(name, "_from_"); ok {
		return quantizedPolicy(name, mode, source)
	}
	if p, ok := dtypePolicies[name]; ok {
		return p, nil
	}
	if d, err := ir.ParseDType(name); err == nil {
		return DTypePolicy{Name: name, Compute: d, Variable: d}, nil
	}
	known := make([]string, 0, len(dtypePolicies))
	for k := range dtypePolicies {
		known = append(known, k)
	}
	slices.Sort(known)
	return DTypePolicy{}, fmt.Errorf("unknown dtype policy %q; known: %s", name, strings.Join(known, ", "))
}

// defaultHistory is the length of the histories of float8, as in Keras.
const defaultHistory = 1024

// quantizedPolicy returns the policy with the name mode_from_source.
func quantizedPolicy(name, mode, source string) (DTypePolicy, error) {
	p, err := ParseDTypePolicy(source)
	if err == nil && p.Quantization.Mode != "" {
		err = fmt.Errorf("it is quantized itself")
	}
	if err != nil {
		return p, fmt.Errorf("dtype policy %q: the source %q: %w", name, source, err)
	}
	kind, setting, given := strings.Cut(mode, "/")
	if kind == "gptq" || kind == "awq" {
		p.Name = name
		p.Quantization, err = calibrated(name, kind, setting)
		return p, err
	}
	n := 0
	if given {
		if n, err = strconv.Atoi(setting); err != nil || n == 0 || n < -1 || n < 1 && kind != "int4" || kind == "int8" {
			return p, fmt.Errorf("dtype policy %q: the setting %q of the mode %q; expected int8, int4/-1 or int4/128 (inputs that share a scale), or float8", name, setting, kind)
		}
	}
	p.Name = name
	switch kind {
	case "int8":
		if p.Compute == ir.Float16 {
			return p, fmt.Errorf("dtype policy %q: int8 does not go with computing in float16, whose range is too small for its sums; use float32 or mixed_bfloat16", name)
		}
		p.Quantization = Quantization{Mode: kind}
	case "int4":
		if !given {
			n = -1
		}
		p.Quantization = Quantization{Mode: kind, Block: n}
	case "float8":
		if !given {
			n = defaultHistory
		}
		p.Quantization = Quantization{Mode: kind, History: n}
	default:
		return p, fmt.Errorf("dtype policy %q: unknown mode %q; expected int8, int4, float8, gptq or awq", name, kind)
	}
	return p, nil
}

// calibrated reads the settings of gptq and awq, "4/128".
func calibrated(name, kind, setting string) (Quantization, error) {
	first, second, _ := strings.Cut(setting, "/")
	bits, err := strconv.Atoi(first)
	block, wrong := strconv.Atoi(second)
	known := []int{2, 3, 4, 8}
	if kind == "awq" {
		known = []int{4}
	}
	if err != nil || wrong != nil || !slices.Contains(known, bits) || block == 0 || block < -1 || block > 1<<31-1 {
		return Quantization{}, fmt.Errorf("dtype policy %q: the settings %q of the mode %s; expected %s/bits/group, as in %s/4/128, with bits among %v and a positive number of inputs that share a scale, or -1 for all", name, setting, kind, kind, kind, known)
	}
	return Quantization{Mode: kind, Bits: bits, Block: block}, nil
}

// Float returns the type in which losses and metrics are computed: that of the variables, at least float32.
func (p DTypePolicy) Float() ir.DType {
	if p.Variable == ir.Float64 {
		return ir.Float64
	}
	return ir.Float32
}
