package onnx

import (
	"math"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/gokeras/gokeras/kernels/ir"
)

// Numbers of the fields, from onnx.proto (IR version 8).
const (
	modelIRVersion    = 1
	modelProducerName = 2
	modelDocString    = 6
	modelGraph        = 7
	modelOpsetImport  = 8

	opsetVersion = 2

	graphNode        = 1
	graphName        = 2
	graphInitializer = 5
	graphInput       = 11
	graphOutput      = 12

	nodeInput     = 1
	nodeOutput    = 2
	nodeName      = 3
	nodeOpType    = 4
	nodeAttribute = 5

	attributeName   = 1
	attributeFloat  = 2
	attributeInt    = 3
	attributeString = 4
	attributeGraph  = 6
	attributeInts   = 8
	attributeType   = 20

	tensorDims     = 1
	tensorDataType = 2
	tensorName     = 8
	tensorRawData  = 9

	infoName        = 1
	infoType        = 2
	typeTensor      = 1
	tensorElemType  = 1
	tensorTypeShape = 2
	shapeDim        = 1
	dimValue        = 1
	dimParam        = 2
)

// Kinds of attributes.
const (
	kindFloat  = 1
	kindInt    = 2
	kindString = 3
	kindGraph  = 5
	kindInts   = 7
)

// elementTypes are the numbers of the element types, TensorProto.DataType.
var elementTypes = map[ir.DType]uint64{
	ir.Float32: 1, ir.Uint8: 2, ir.Int8: 3, ir.Uint16: 4, ir.Int16: 5, ir.Int32: 6, ir.Int64: 7, ir.Bool: 9, ir.Float16: 10,
	ir.Float64: 11, ir.Uint32: 12, ir.Uint64: 13, ir.BFloat16: 16,
}

func putBytes[T ~string | ~[]byte](b []byte, field protowire.Number, value T) []byte {
	return protowire.AppendBytes(protowire.AppendTag(b, field, protowire.BytesType), []byte(value))
}

func putInt(b []byte, field protowire.Number, value int64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(b, field, protowire.VarintType), uint64(value))
}

// attribute is a named constant of a node: a float64, int, string, []int or *graph.
type attribute struct {
	name  string
	value any
}

func (a attribute) marshal() []byte {
	b := putBytes(nil, attributeName, a.name)
	kind := int64(0)
	switch v := a.value.(type) {
	case float64:
		kind = kindFloat
		b = protowire.AppendFixed32(protowire.AppendTag(b, attributeFloat, protowire.Fixed32Type), math.Float32bits(float32(v)))
	case int:
		kind = kindInt
		b = putInt(b, attributeInt, int64(v))
	case string:
		kind = kindString
		b = putBytes(b, attributeString, v)
	case []int:
		kind = kindInts
		for _, i := range v {
			b = putInt(b, attributeInts, int64(i))
		}
	case *graph:
		kind = kindGraph
		b = putBytes(b, attributeGraph, v.marshal())
	}
	return putInt(b, attributeType, kind)
}

// node is one operation.
type node struct {
	name, op        string
	inputs, outputs []string
	attributes      []attribute
}

func (n *node) marshal() []byte {
	var b []byte
	for _, in := range n.inputs {
		b = putBytes(b, nodeInput, in)
	}
	for _, out := range n.outputs {
		b = putBytes(b, nodeOutput, out)
	}
	b = putBytes(putBytes(b, nodeName, n.name), nodeOpType, n.op)
	for _, a := range n.attributes {
		b = putBytes(b, nodeAttribute, a.marshal())
	}
	return b
}

// tensor is a constant.
type tensor struct {
	name  string
	dtype ir.DType
	shape []int
	data  []byte
}

func (t *tensor) marshal() []byte {
	var b []byte
	for _, d := range t.shape {
		b = putInt(b, tensorDims, int64(d))
	}
	b = putInt(b, tensorDataType, int64(elementTypes[t.dtype]))
	return putBytes(putBytes(b, tensorName, t.name), tensorRawData, t.data)
}

// info is the name and type of an input or output. axes are numbers, or names of open lengths.
type info struct {
	name  string
	dtype ir.DType
	axes  []any // int or string; "" is an open axis without a name

	anyShape bool // the shape is not given
}

func (v *info) marshal() []byte {
	var shape []byte
	for _, axis := range v.axes {
		var dim []byte
		switch a := axis.(type) {
		case int:
			dim = putInt(nil, dimValue, int64(a))
		case string:
			if a != "" {
				dim = putBytes(nil, dimParam, a)
			}
		}
		shape = putBytes(shape, shapeDim, dim)
	}
	t := putInt(nil, tensorElemType, int64(elementTypes[v.dtype]))
	if !v.anyShape {
		t = putBytes(t, tensorTypeShape, shape)
	}
	return putBytes(putBytes(nil, infoName, v.name), infoType, putBytes(nil, typeTensor, t))
}

// graph is a main graph, or the body of a loop or branch.
type graph struct {
	name            string
	nodes           []*node
	initializers    []*tensor
	inputs, outputs []info
}

func (g *graph) marshal() []byte {
	var b []byte
	for _, n := range g.nodes {
		b = putBytes(b, graphNode, n.marshal())
	}
	b = putBytes(b, graphName, g.name)
	for _, t := range g.initializers {
		b = putBytes(b, graphInitializer, t.marshal())
	}
	for i := range g.inputs {
		b = putBytes(b, graphInput, g.inputs[i].marshal())
	}
	for i := range g.outputs {
		b = putBytes(b, graphOutput, g.outputs[i].marshal())
	}
	return b
}

// Versions of the written model.
const (
	irVersion = 8
	opset     = 18
)

func marshalModel(g *graph, description string) []byte {
	b := putInt(nil, modelIRVersion, irVersion)
	b = putBytes(b, modelProducerName, "gokeras")
	if description != "" {
		b = putBytes(b, modelDocString, description)
	}
	b = putBytes(b, modelGraph, g.marshal())
	return putBytes(b, modelOpsetImport, putInt(nil, opsetVersion, opset))
}
