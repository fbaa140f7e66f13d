package plot

import (
	"fmt"
	"slices"
)

// Option is an option of [Model].
type Option interface{ apply(*config) }

type config struct {
	shapes, dtypes, activations, trainable bool
	names, expand                          bool
	direction                              string
	dpi                                    int
}

type option func(*config)

func (f option) apply(c *config) { f(c) }

// ShowShapes adds the shapes of each layer's inputs and results, with None for open axes.
func ShowShapes() Option { return option(func(c *config) { c.shapes = true }) }

// ShowDType adds the element type of each layer's results.
func ShowDType() Option { return option(func(c *config) { c.dtypes = true }) }

// ShowLayerNames adds the name of each layer to its class.
func ShowLayerNames() Option { return option(func(c *config) { c.names = true }) }

// ShowLayerActivations adds the activation of layers that have one.
func ShowLayerActivations() Option { return option(func(c *config) { c.activations = true }) }

// ShowTrainable marks layers with weights as trainable or not.
func ShowTrainable() Option { return option(func(c *config) { c.trainable = true }) }

// ExpandNested draws nested models with their layers, in a frame of their own, instead of as one box.
func ExpandNested() Option { return option(func(c *config) { c.expand = true }) }

// RankDir sets the direction of the drawing: "TB" (top to bottom, the default), "LR" (left to right), "BT" or "RL".
func RankDir(direction string) Option { return option(func(c *config) { c.direction = direction }) }

// DPI sets the resolution of ".png" files, in pixels per inch; the default is 200. It is reduced for drawings so large
// that the image would have more than 64 million pixels.
func DPI(dpi int) Option { return option(func(c *config) { c.dpi = dpi }) }

func configure(options []Option) (config, error) {
	c := config{direction: "TB", dpi: 200}
	for _, o := range options {
		if o != nil {
			o.apply(&c)
		}
	}
	if !slices.Contains([]string{"TB", "LR", "BT", "RL"}, c.direction) {
		return c, fmt.Errorf("RankDir is %q; expected \"TB\", \"LR\", \"BT\" or \"RL\"", c.direction)
	}
	if c.dpi < 10 || c.dpi > 2400 {
		return c, fmt.Errorf("DPI is %d; expected 10 to 2400", c.dpi)
	}
	return c, nil
}
