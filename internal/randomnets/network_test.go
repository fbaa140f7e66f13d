package randomnets

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/internal/recorded"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/layers"
)

// network is a random network and what Keras says of it.
type network struct {
	Inputs  [][]*int
	Integer bool
	Steps   []step
	Run     *run
}

// step is a layer and the tensors that it takes: inputs first, then one for each step that works.
type step struct {
	Class  string
	Config map[string]any
	Take   []int
	Shape  []*int
	Params int
	Error  string // with which Keras refuses
	Crash  bool   // the text is not of a check
}

// run is what a computation with one choice of lengths has for shapes, up to the step that refuses.
type run struct {
	Inputs [][]int
	Shapes [][]int
	Error  string
	Crash  bool
}

func readNetworks(t *testing.T, file string) []network {
	t.Helper()
	all := recorded.JSON[struct{ Networks []network }](t, file)
	require.NotEmpty(t, all.Networks)
	return all.Networks
}

// object is a layer in Keras's JSON. Layers inside settings are lists of class and settings.
func object(class string, settings map[string]any) map[string]any {
	c := map[string]any{}
	for k, v := range settings {
		list, ok := v.([]any)
		switch {
		case !ok || k != "layer" && k != "cell" && k != "cells":
		case k == "cells":
			all := make([]any, len(list))
			for i, e := range list {
				all[i] = object(e.([]any)[0].(string), e.([]any)[1].(map[string]any))
			}
			v = all
		default:
			v = object(list[0].(string), list[1].(map[string]any))
		}
		c[k] = v
	}
	return map[string]any{"module": "keras.layers", "class_name": class, "config": c, "registered_name": nil}
}

// layer makes the layer; an error is a refusal.
func (s step) layer() (layers.Layer, error) {
	raw, err := json.Marshal(object(s.Class, s.Config))
	if err != nil {
		return nil, err
	}
	return layers.FromObject(raw)
}

func (s step) String() string { return fmt.Sprintf("%s %v", s.Class, s.Config) }

// operands are the inputs of a step: an attention sees its input twice.
func operands[T any](s step, tensors []T) []T {
	var in []T
	for _, i := range s.Take {
		in = append(in, tensors[i])
	}
	switch s.Class {
	case "MultiHeadAttention", "GroupQueryAttention", "Attention", "AdditiveAttention":
		in = append(in, in[0])
	}
	return in
}

func openShape(s []*int) ir.Shape {
	out := make(ir.Shape, len(s))
	for i, d := range s {
		out[i] = layers.Unknown
		if d != nil {
			out[i] = *d
		}
	}
	return out
}
