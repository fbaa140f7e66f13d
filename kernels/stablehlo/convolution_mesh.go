package stablehlo

import (
	"fmt"
	"strconv"
	"strings"
)

// partlyCopied reports whether some devices may hold copies of a value while other devices hold different parts: on a
// mesh of more than one axis.
func (e *emitter) partlyCopied() bool {
	if e.options == nil || e.partitions <= 1 {
		return false
	}
	if e.options.Mesh != "" {
		return strings.Count(e.options.Mesh, "=") > 1
	}
	for _, s := range e.options.Shardings {
		if strings.Contains(s, "last_tile_dim_replicate") {
			return true
		}
	}
	return false
}

// wholeImages keeps the partitioner from dividing the spatial axes of an operand or the result of a convolution, which
// are the numbers in its description ("[b, 0, 1, f]"). If such an axis is divided along one axis of a mesh and copied
// along another, the sums of GSPMD, which Shardy uses too, count every copy. The other axes may be divided.
func (e *emitter) wholeImages(v value, description string) value {
	if !e.partlyCopied() {
		return v
	}
	var open []string
	axes := strings.Split(strings.Trim(description, "[]"), ", ")
	for i, axis := range axes {
		if _, err := strconv.Atoi(axis); err == nil {
			axes[i] = "{}"
			continue
		}
		axes[i] = "{?}"
		open = append(open, fmt.Sprint(i))
	}
	if e.options.Mesh != "" {
		return e.definef(v.typ, "sdy.sharding_constraint %s <@mesh, [%s]> : %s", v.name, strings.Join(axes, ", "), tensor(v.typ))
	}
	return e.definef(v.typ, "stablehlo.custom_call @Sharding(%s) {backend_config = \"unspecified_dims=[%s]\", mhlo.sharding = \"{replicated}\"} : (%s) -> %s",
		v.name, strings.Join(open, ","), tensor(v.typ), tensor(v.typ))
}
