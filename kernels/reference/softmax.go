package reference

import (
	"math"

	"github.com/gokeras/gokeras/kernels/ir"
)

// lastLines returns the positions along the last axis.
func lastLines(v Value) [][]int { return lines(v.Type.Shape, len(v.Type.Shape)-1) }

// exponentials returns the largest of the elements, Σ exp(x_i - largest) and its terms.
func exponentials(x []float64, at []int) (largest, sum float64, terms []float64) {
	largest = math.Inf(-1)
	for _, i := range at {
		largest = maximum(largest, x[i])
	}
	for _, i := range at {
		terms = append(terms, math.Exp(x[i]-largest))
		sum += terms[len(terms)-1]
	}
	return largest, sum, terms
}

func (c *call) softmax() error {
	for _, line := range lastLines(c.in[0]) {
		_, sum, terms := exponentials(c.in[0].F, line)
		for k, i := range line {
			c.out[0].F[i] = terms[k] / sum
		}
	}
	return nil
}

func (c *call) softmaxGrad() error {
	y, dy := c.in[0].F, c.in[1].F
	for _, line := range lastLines(c.in[0]) {
		sum := 0.0
		for _, i := range line {
			sum += y[i] * dy[i]
		}
		for _, i := range line {
			c.out[0].F[i] = y[i] * (dy[i] - sum)
		}
	}
	return nil
}

func (c *call) logSoftmax() error {
	for _, line := range lastLines(c.in[0]) {
		largest, sum, _ := exponentials(c.in[0].F, line)
		for _, i := range line {
			c.out[0].F[i] = (c.in[0].F[i] - largest) - math.Log(sum)
		}
	}
	return nil
}

func (c *call) logSoftmaxGrad() error {
	y, dy := c.in[0].F, c.in[1].F
	for _, line := range lastLines(c.in[0]) {
		sum := 0.0
		for _, i := range line {
			sum += dy[i]
		}
		for _, i := range line {
			c.out[0].F[i] = dy[i] - math.Exp(y[i])*sum
		}
	}
	return nil
}

func (c *call) crossEntropy() error {
	logits, labels := c.in[0], c.in[1]
	for n, line := range lastLines(logits) {
		label, _, err := lookup(labels, n, ir.IndexError, len(logits.Type.Shape)-1, len(line))
		if err != nil {
			return err
		}
		largest, sum, _ := exponentials(logits.F, line)
		c.out[0].F[n] = math.Log(sum) - (logits.F[line[label]] - largest)
		c.out[1].F[n] = largest + math.Log(sum)
	}
	return nil
}

func (c *call) crossEntropyGrad() error {
	logits, labels, total, dloss := c.in[0], c.in[1], c.in[2].F, c.in[3].F
	for n, line := range lastLines(logits) {
		label, _, err := lookup(labels, n, ir.IndexError, len(logits.Type.Shape)-1, len(line))
		if err != nil {
			return err
		}
		for class, i := range line {
			target := 0.0
			if class == label {
				target = 1
			}
			c.out[0].F[i] = (math.Exp(logits.F[i]-total[n]) - target) * dloss[n]
		}
	}
	return nil
}
