package reference

import (
	"math"

	"github.com/gokeras/gokeras/kernels/ir"
)

// moments returns the mean and the biased variance of the elements of x at the given positions.
func moments(x []float64, at []int) (mean, variance float64) {
	for _, i := range at {
		mean += x[i]
	}
	mean /= float64(len(at))
	for _, i := range at {
		variance += (x[i] - mean) * (x[i] - mean)
	}
	return mean, variance / float64(len(at))
}

// columns returns the positions of the elements of each channel.
func columns(s ir.Shape) [][]int {
	channels := s[len(s)-1]
	all := make([][]int, channels)
	for i := range s.Size() {
		all[i%channels] = append(all[i%channels], i)
	}
	return all
}

func (c *call) batchNorm() error {
	epsilon := c.node.Attrs.(ir.NormAttrs).Epsilon
	x, gamma, beta := c.in[0].F, c.in[1].F, c.in[2].F
	for ch, column := range columns(c.in[0].Type.Shape) {
		mean, variance := moments(x, column)
		for _, i := range column {
			c.out[0].F[i] = gamma[ch]*(x[i]-mean)/math.Sqrt(variance+epsilon) + beta[ch]
		}
		c.out[1].F[ch], c.out[2].F[ch] = mean, variance
	}
	return nil
}

// normGrad accumulates the gradient of y = scale·(x-mean)·rstd through one set of elements that share mean and rstd: dx
// = rstd·(g - mean(g) - n·mean(g·n)) with the normalized n = (x-mean)·rstd and g = scale·dy.
func normGrad(dx, x, g []float64, at []int, mean, rstd float64) {
	gSum, gnSum := 0.0, 0.0
	for _, i := range at {
		gSum += g[i]
		gnSum += g[i] * (x[i] - mean) * rstd
	}
	count := float64(len(at))
	for _, i := range at {
		dx[i] = rstd * (g[i] - gSum/count - (x[i]-mean)*rstd*gnSum/count)
	}
}

// scaled returns dy times the channel's gamma.
func scaled(dy, gamma []float64) []float64 {
	g := make([]float64, len(dy))
	for i := range g {
		g[i] = dy[i] * gamma[i%len(gamma)]
	}
	return g
}

func (c *call) batchNormGrad() error {
	epsilon := c.node.Attrs.(ir.NormAttrs).Epsilon
	x, gamma, mean, variance, dy := c.in[0].F, c.in[1].F, c.in[2].F, c.in[3].F, c.in[4].F
	g := scaled(dy, gamma)
	for ch, column := range columns(c.in[0].Type.Shape) {
		rstd := 1 / math.Sqrt(variance[ch]+epsilon)
		normGrad(c.out[0].F, x, g, column, mean[ch], rstd)
		for _, i := range column {
			c.out[1].F[ch] += dy[i] * (x[i] - mean[ch]) * rstd
			c.out[2].F[ch] += dy[i]
		}
	}
	return nil
}

func (c *call) layerNorm() error {
	epsilon := c.node.Attrs.(ir.NormAttrs).Epsilon
	x, gamma, beta := c.in[0].F, c.in[1].F, c.in[2].F
	s := c.in[0].Type.Shape
	for n, line := range lines(s, len(s)-1) {
		mean, variance := moments(x, line)
		rstd := 1 / math.Sqrt(variance+epsilon)
		for ch, i := range line {
			c.out[0].F[i] = gamma[ch]*(x[i]-mean)*rstd + beta[ch]
		}
		c.out[1].F[n], c.out[2].F[n] = mean, rstd
	}
	return nil
}

func (c *call) layerNormGrad() error {
	x, gamma, mean, rstd, dy := c.in[0].F, c.in[1].F, c.in[2].F, c.in[3].F, c.in[4].F
	s := c.in[0].Type.Shape
	g := scaled(dy, gamma)
	for n, line := range lines(s, len(s)-1) {
		normGrad(c.out[0].F, x, g, line, mean[n], rstd[n])
		for ch, i := range line {
			c.out[1].F[ch] += dy[i] * (x[i] - mean[n]) * rstd[n]
			c.out[2].F[ch] += dy[i]
		}
	}
	return nil
}

// groups returns the positions of the elements of each group of channels of each example, and the channels of these
// elements.
func groups(s ir.Shape, count int) (at, channels [][]int) {
	c := s[len(s)-1]
	at, channels = make([][]int, s[0]*count), make([][]int, s[0]*count)
	for i := range s.Size() {
		k := i/(s.Size()/s[0])*count + i%c/(c/count)
		at[k], channels[k] = append(at[k], i), append(channels[k], i%c)
	}
	return at, channels
}

func (c *call) groupNorm() error {
	a := c.node.Attrs.(ir.GroupNormAttrs)
	x, gamma, beta := c.in[0].F, c.in[1].F, c.in[2].F
	at, channels := groups(c.in[0].Type.Shape, a.Groups)
	for n, group := range at {
		mean, variance := moments(x, group)
		rstd := 1 / math.Sqrt(variance+a.Epsilon)
		for k, i := range group {
			ch := channels[n][k]
			c.out[0].F[i] = gamma[ch]*(x[i]-mean)*rstd + beta[ch]
		}
		c.out[1].F[n], c.out[2].F[n] = mean, rstd
	}
	return nil
}

func (c *call) groupNormGrad() error {
	x, gamma, mean, rstd, dy := c.in[0].F, c.in[1].F, c.in[2].F, c.in[3].F, c.in[4].F
	g := scaled(dy, gamma)
	at, channels := groups(c.in[0].Type.Shape, c.node.Attrs.(ir.GroupNormAttrs).Groups)
	for n, group := range at {
		normGrad(c.out[0].F, x, g, group, mean[n], rstd[n])
		for k, i := range group {
			ch := channels[n][k]
			c.out[1].F[ch] += dy[i] * (x[i] - mean[n]) * rstd[n]
			c.out[2].F[ch] += dy[i]
		}
	}
	return nil
}
