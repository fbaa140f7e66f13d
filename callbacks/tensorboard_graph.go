package callbacks

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/gokeras/gokeras/internal/tensorboard"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/ir/dim"
)

// graph writes the program of the model's predictions, once, as soon as the model is built.
func (c *TensorBoard) graph() error {
	model, ok := c.Model().(TracedModel)
	if !ok || c.NoGraph || c.graphed {
		return nil
	}
	program, err := model.InferenceProgram(0)
	if err != nil { // not built yet
		return nil
	}
	c.graphed = true
	w, err := c.trainWriter()
	if err != nil {
		return err
	}
	return w.Graph(graphNodes(program))
}

// graphNodes draws a program: a node for each of its inputs, operations and outputs. Nodes, including variables, are
// grouped in the box of their layer.
func graphNodes(p *ir.Program) []tensorboard.GraphNode {
	d := drawing{p: p, names: make([]string, p.NumValues()), taken: map[string]int{}}
	for _, in := range p.Inputs {
		op := "Placeholder"
		if strings.Contains(in.Name, "/") {
			op = "Variable"
		}
		d.add(in.Name, op, nil, nil, in.Value)
	}
	for i := range p.Nodes {
		n := &p.Nodes[i]
		text := map[string]string{}
		if a := fmt.Sprintf("%+v", n.Attrs); n.Attrs != nil && n.Op != ir.Constant {
			text["attributes"] = a
		}
		scope := strings.TrimPrefix(strings.TrimPrefix(n.Scope, p.Name), "/") // as in the paths of the variables
		d.add(scope+"/"+n.Op.String(), n.Op.String(), n.Inputs, text, n.Outputs...)
	}
	for _, out := range p.Outputs {
		d.add("outputs/"+out.Name, "Identity", []ir.Value{out.Value}, nil)
	}
	return d.nodes
}

type drawing struct {
	p     *ir.Program
	nodes []tensorboard.GraphNode
	names []string // of values, as inputs of nodes
	taken map[string]int
}

// add draws a node. Numbers at the end make names unique.
func (d *drawing) add(name, op string, inputs []ir.Value, text map[string]string, outputs ...ir.Value) {
	name = strings.Trim(strings.NewReplacer(":", "_", " ", "_").Replace(name), "/")
	n := d.taken[name]
	d.taken[name]++
	if n > 0 {
		name += "_" + strconv.Itoa(n)
		d.taken[name]++
	}
	node := tensorboard.GraphNode{Name: name, Op: op, Text: text}
	for _, v := range inputs {
		node.Inputs = append(node.Inputs, d.names[v])
	}
	for i, v := range outputs {
		d.names[v] = name
		if i > 0 {
			d.names[v] += ":" + strconv.Itoa(i)
		}
		t := d.p.Type(v)
		node.DType = t.DType.String()
		shape := make([]int, len(t.Shape))
		for axis, n := range t.Shape {
			shape[axis] = n
			if !dim.Known(n) {
				shape[axis] = -1
			}
		}
		node.Shapes = append(node.Shapes, shape)
	}
	d.nodes = append(d.nodes, node)
}
