package main

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// variantsSource has a line for each further call of a layer: its class, its operands separated by commas, its
// configuration, and "training" where it computes what it does in training.
//
//go:embed variants.txt
var variantsSource string

// variantOperands are the operands that the lines name.
var variantOperands = map[string]func(n int) tensor{
	"rows": rows, "images": images, "sequences": sequences, "volumes": volumes, "words": words, "pictures": pictures,
	"row":     func(int) tensor { return floats(1, 256) },
	"planes":  func(n int) tensor { return floats(max(n/(16*32*32), 1), 16, 32, 32) },
	"wide":    func(n int) tensor { return floats(max(n/(8*8*256), 1), 8, 8, 256) },
	"images3": func(n int) tensor { return floats(max(n/(64*64*3), 1), 64, 64, 1) },
	"movies":  func(n int) tensor { return floats(max(n/(4*16*16*8), 1), 4, 16, 16, 8) },
	"heads":   func(n int) tensor { return floats(max(n/(64*128), 1), 64, 128) },
	"many":    func(n int) tensor { return tensor{"int32", []int{n / (64 * 64), 64}, 0, 100000} },
	"labels":  func(n int) tensor { return tensor{"int32", []int{n / 128, 1}, 0, 100} },
	"column":  func(n int) tensor { return floats(n/8, 1) },
	"narrow":  func(n int) tensor { return floats(n/10, 10) },
	"small":   func(n int) tensor { return floats(max(n/(3*3*64), 1), 3, 3, 64) },
	"thumbs":  func(n int) tensor { return floats(max(n/(16*16*3), 1), 16, 16, 3) },
	"waves":   func(n int) tensor { return floats(max(n/8192, 1), 8192) },
	"waves1":  func(n int) tensor { return floats(max(n/8192, 1), 8192, 1) },
}

// variantCases are layers in other configurations than those of their rows.
func variantCases() ([]callCase, error) {
	var cases []callCase
	for line := range strings.Lines(variantsSource) {
		line, training := strings.CutSuffix(strings.TrimSpace(line), " training")
		class, rest, _ := strings.Cut(line, " ")
		operands, text, _ := strings.Cut(rest, " ")
		config := map[string]any{}
		if err := json.Unmarshal([]byte(text), &config); err != nil {
			return nil, fmt.Errorf("variants.txt: %s: %w", line, err)
		}
		names := strings.Split(operands, ",")
		for _, name := range names {
			if variantOperands[name] == nil {
				return nil, fmt.Errorf("variants.txt: %s: %q is no operand; use one of %v", line, name, slices.Sorted(maps.Keys(variantOperands)))
			}
		}
		label := "layers." + line
		if training {
			label += " training"
		}
		cases = append(cases, callCase{strings.ReplaceAll(label, `"`, ""), func(n int) (benchmark, error) {
			b := benchmark{Name: strings.ReplaceAll(label, `"`, ""), Layer: class, Config: config, Training: training}
			var list []tensor
			for _, name := range names {
				list = append(list, variantOperands[name](n))
			}
			b.Arguments = layerArguments(class, list)
			return b, nil
		}})
	}
	return cases, nil
}
