package onnx_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protowire"
)

// message is a protocol-buffer message by field numbers.
type message map[protowire.Number][]any // uint64 or []byte

func decode(t testing.TB, raw []byte) message {
	t.Helper()
	m := message{}
	for len(raw) > 0 {
		number, kind, n := protowire.ConsumeTag(raw)
		require.Positive(t, n)
		raw = raw[n:]
		var v any
		switch kind {
		case protowire.VarintType:
			v, n = protowire.ConsumeVarint(raw)
		case protowire.Fixed32Type:
			var bits uint32
			bits, n = protowire.ConsumeFixed32(raw)
			v = uint64(bits)
		case protowire.BytesType:
			v, n = protowire.ConsumeBytes(raw)
		default:
			t.Fatalf("wire type %v", kind)
		}
		require.GreaterOrEqual(t, n, 0)
		raw = raw[n:]
		m[number] = append(m[number], v)
	}
	return m
}

func (m message) text(field protowire.Number) string {
	if len(m[field]) == 0 {
		return ""
	}
	return string(m[field][0].([]byte))
}

func (m message) texts(field protowire.Number) (out []string) {
	for _, v := range m[field] {
		out = append(out, string(v.([]byte)))
	}
	return out
}

func (m message) number(field protowire.Number) int {
	if len(m[field]) == 0 {
		return 0
	}
	return int(m[field][0].(uint64))
}

func (m message) messages(t testing.TB, field protowire.Number) (out []message) {
	for _, v := range m[field] {
		out = append(out, decode(t, v.([]byte)))
	}
	return out
}

// model is the part of a model that tests check.
type model struct {
	inputs, outputs map[string][]string // axes: lengths or names
	weights         map[string][]int
	constants       []string // names of weights and constants
	nodes           []string // "name: Op"
}

// parse decodes a model and checks what every model must have: versions, names that are defined once and before use,
// types of inputs and outputs.
func parse(t testing.TB, raw []byte) *model {
	t.Helper()
	m := decode(t, raw)
	require.Equal(t, 8, m.number(1), "IR version")
	require.Equal(t, 18, m.messages(t, 8)[0].number(2), "opset")
	g := m.messages(t, 7)[0]
	out := &model{inputs: map[string][]string{}, outputs: map[string][]string{}, weights: map[string][]int{}}
	for _, v := range g.messages(t, 5) {
		out.constants = append(out.constants, v.text(8))
	}
	checkGraph(t, g, map[string]bool{}, map[string]bool{}, out)
	for _, part := range []struct {
		field protowire.Number
		to    map[string][]string
	}{{11, out.inputs}, {12, out.outputs}} {
		for _, v := range g.messages(t, part.field) {
			tensor := v.messages(t, 2)[0].messages(t, 1)[0]
			require.Positive(t, tensor.number(1), "element type of %s", v.text(1))
			axes := []string{}
			for _, d := range tensor.messages(t, 2)[0].messages(t, 1) {
				if len(d[1]) > 0 {
					axes = append(axes, fmt.Sprint(d.number(1)))
				} else {
					axes = append(axes, d.text(2))
				}
			}
			part.to[v.text(1)] = axes
		}
	}
	return out
}

func checkGraph(t testing.TB, g message, outer, names map[string]bool, out *model) {
	t.Helper()
	known := map[string]bool{"": true}
	for name := range outer {
		known[name] = true
	}
	define := func(name string) {
		require.NotEmpty(t, name)
		require.False(t, known[name], "%q is defined twice", name)
		known[name] = true
	}
	for _, v := range g.messages(t, 11) {
		define(v.text(1))
	}
	for _, v := range g.messages(t, 5) {
		define(v.text(8))
		size := map[int]int{1: 4, 2: 1, 6: 4, 7: 8, 9: 1, 10: 2, 11: 8, 12: 4, 16: 2}[v.number(2)]
		dims := []int{}
		for _, d := range v[1] {
			dims = append(dims, int(d.(uint64)))
			size *= int(d.(uint64))
		}
		require.Len(t, v.text(9), size, "bytes of %s", v.text(8))
		if !strings.HasPrefix(v.text(8), "constant_") {
			out.weights[v.text(8)] = dims
		}
	}
	for _, n := range g.messages(t, 1) {
		require.False(t, names[n.text(3)], "two nodes are called %q", n.text(3))
		names[n.text(3)] = true
		out.nodes = append(out.nodes, n.text(3)+": "+n.text(4))
		for _, in := range n.texts(1) {
			require.True(t, known[in], "node %q uses %q before it is defined", n.text(3), in)
		}
		for _, a := range n.messages(t, 5) {
			for _, body := range a.messages(t, 6) {
				around := known
				if n.text(4) == "Scan" { // all that OpenVINO lets its body see
					around = map[string]bool{}
					for _, name := range out.constants {
						around[name] = true
					}
				}
				checkGraph(t, body, around, names, out)
			}
		}
		for _, name := range n.texts(2) {
			define(name)
		}
	}
	for _, v := range g.messages(t, 12) {
		require.True(t, known[v.text(1)], "output %q is not defined", v.text(1))
	}
}
