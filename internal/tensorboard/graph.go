package tensorboard

import (
	"maps"
	"slices"
	"time"
)

// Numbers of the fields, from graph.proto, node_def.proto, attr_value.proto and versions.proto.
const (
	eventGraph = 4

	graphNode     = 1
	graphVersions = 4

	versionProducer = 1

	nodeName   = 1
	nodeOp     = 2
	nodeInput  = 3
	nodeDevice = 4
	nodeAttr   = 5

	mapKey   = 1
	mapValue = 2

	attrList  = 1
	attrText  = 2
	attrType  = 6
	listShape = 7
)

// producer is the version of graphs that TensorFlow 2 writes.
const producer = 2000

// GraphNode is one operation of a graph. TensorBoard draws names with slashes as boxes inside boxes.
type GraphNode struct {
	Name   string
	Op     string
	Inputs []string // names of nodes, with ":1" for the second output, and so on
	Device string
	DType  string // one of TensorFlow's names: "float32"; "" is none
	// Shapes are those of the outputs; -1 is a length that is not fixed.
	Shapes [][]int
	Text   map[string]string // what else there is to tell
}

// graphTypes holds TensorFlow's numbers of element types.
var graphTypes = map[string]uint64{
	"float32": 1, "float64": 2, "int32": 3, "uint8": 4, "int16": 5, "int8": 6, "string": 7, "int64": 9, "bool": 10,
	"bfloat16": 14, "uint16": 17, "float16": 19, "uint32": 22, "uint64": 23,
}

// Graph adds a graph of operations, which TensorBoard shows as the run's op graph.
func (w *Writer) Graph(nodes []GraphNode) error {
	var graph []byte
	for i := range nodes {
		graph = appendBytes(graph, graphNode, nodes[i].marshal())
	}
	graph = appendBytes(graph, graphVersions, appendVarint(nil, versionProducer, producer))
	return w.write(appendBytes(event(seconds(time.Now()), 0), eventGraph, graph))
}

func (n *GraphNode) marshal() []byte {
	b := appendBytes(nil, nodeName, []byte(n.Name))
	b = appendBytes(b, nodeOp, []byte(n.Op))
	for _, in := range n.Inputs {
		b = appendBytes(b, nodeInput, []byte(in))
	}
	if n.Device != "" {
		b = appendBytes(b, nodeDevice, []byte(n.Device))
	}
	if t := graphTypes[n.DType]; t != 0 {
		b = appendAttr(b, "dtype", appendVarint(nil, attrType, t))
	}
	if len(n.Shapes) > 0 {
		var list []byte
		for _, s := range n.Shapes {
			list = appendBytes(list, listShape, shapeMessage(s))
		}
		b = appendAttr(b, "_output_shapes", appendBytes(nil, attrList, list))
	}
	for _, key := range slices.Sorted(maps.Keys(n.Text)) {
		b = appendAttr(b, key, appendBytes(nil, attrText, []byte(n.Text[key])))
	}
	return b
}

// appendAttr adds an entry of a node's map of attributes.
func appendAttr(b []byte, key string, value []byte) []byte {
	return appendBytes(b, nodeAttr, appendBytes(appendBytes(nil, mapKey, []byte(key)), mapValue, value))
}

// shapeMessage is a TensorShapeProto.
func shapeMessage(shape []int) []byte {
	var b []byte
	for _, d := range shape {
		b = appendBytes(b, shapeDim, appendVarint(nil, dimSize, uint64(int64(d))))
	}
	return b
}

// parseGraph reads the parts of a graph that Graph writes, without shapes.
func parseGraph(message []byte) (nodes []GraphNode, err error) {
	err = fields(message, func(f field) error {
		if f.number != graphNode {
			return nil
		}
		var n GraphNode
		err := fields(f.bytes, func(f field) error {
			switch f.number {
			case nodeName:
				n.Name = string(f.bytes)
			case nodeOp:
				n.Op = string(f.bytes)
			case nodeInput:
				n.Inputs = append(n.Inputs, string(f.bytes))
			case nodeDevice:
				n.Device = string(f.bytes)
			}
			return nil
		})
		nodes = append(nodes, n)
		return err
	})
	return nodes, err
}
