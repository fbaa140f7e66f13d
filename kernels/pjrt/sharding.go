//go:build linux

package pjrt

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gokeras/gokeras/kernels/internal/parts"
	"github.com/gokeras/gokeras/kernels/ir"
	"github.com/gokeras/gokeras/kernels/pjrt/internal/capi"
	"github.com/gokeras/gokeras/kernels/stablehlo"
)

// divide says how to write a program that XLA divides over a mesh, and how its inputs are laid out there. XLA has two
// partitioners, GSPMD and the newer Shardy, each with its own attributes.
func divide(p *ir.Program, mesh parts.Mesh, layouts [][]int, replicas int, shardy bool) ([][]int, stablehlo.Options, error) {
	o := stablehlo.Options{Donate: true, Number: 1, Replicas: replicas, Partitions: mesh.Devices(), Shardings: make([]string, len(layouts))}
	if len(layouts) != len(p.Inputs) {
		return nil, o, fmt.Errorf("pjrt: program %q has %d inputs, the mesh gave layouts for %d", p.Name, len(p.Inputs), len(layouts))
	}
	text := func(at []int) string {
		if shardy {
			return shardyText(at)
		}
		return gspmdText(mesh, at)
	}
	o.Layout = func(a ir.LayoutAttrs, t ir.Type) (string, error) {
		at, err := mesh.Fit(a, t)
		return text(at), err
	}
	kept := make([][]int, len(layouts))
	for i, in := range p.Inputs {
		at, err := mesh.Layout(in.Name, p.Type(in.Value), layouts[i])
		if err != nil {
			return nil, o, fmt.Errorf("pjrt: %w", err)
		}
		kept[i], o.Shardings[i] = at, text(at)
	}
	if shardy {
		axes := make([]string, len(mesh))
		for i, n := range mesh {
			axes[i] = fmt.Sprintf("%s=%d", axisName(i), n)
		}
		o.Mesh = "[" + strings.Join(axes, ", ") + "]"
	}
	return kept, o, nil
}

// firstShardy is the first version of the plugin interface (0.firstShardy) whose plugins get Shardy's attributes. Since
// then JAX uses nothing else, and XLA announces the end of GSPMD.
const firstShardy = 100

func takesShardy(p *capi.Plugin) bool { return p.Minor >= firstShardy }

func axisName(axis int) string { return fmt.Sprintf("%q", fmt.Sprint("axis", axis)) }

// shardyText has, for each axis of an array, the axis of the mesh that divides it.
func shardyText(layout []int) string {
	axes := make([]string, len(layout))
	for i, axis := range layout {
		axes[i] = "{}"
		if axis >= 0 {
			axes[i] = "{" + axisName(axis) + "}"
		}
	}
	return "[" + strings.Join(axes, ", ") + "]"
}

// gspmdText has the number of parts along each axis, then the devices in the order of the parts. Devices with equal
// parts are consecutive, along an additional last axis.
func gspmdText(mesh parts.Mesh, layout []int) string {
	if !parts.Divided(layout) {
		return "{replicated}"
	}
	cuts, copies := make([]string, len(layout)), mesh.Devices()
	for i, axis := range layout {
		size := 1
		if axis >= 0 {
			size = mesh[axis]
		}
		cuts[i] = fmt.Sprint(size)
		copies /= size
	}
	last := ""
	if copies > 1 {
		cuts, last = append(cuts, fmt.Sprint(copies)), " last_tile_dim_replicate"
	}
	order := make([]int, mesh.Devices())
	for i := range order {
		order[i] = i
	}
	part := func(device int) int {
		n := 0
		for _, axis := range layout {
			if axis >= 0 {
				n = n*mesh[axis] + mesh.Coordinate(device, axis)
			}
		}
		return n
	}
	slices.SortStableFunc(order, func(a, b int) int { return part(a) - part(b) })
	return fmt.Sprintf("{devices=[%s]%s%s}", strings.Join(cuts, ","), strings.ReplaceAll(strings.Trim(fmt.Sprint(order), "[]"), " ", ","), last)
}
