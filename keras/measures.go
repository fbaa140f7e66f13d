package keras

import (
	"fmt"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/kernels"
	"github.com/gokeras/gokeras/kernels/ir"
)

// measures are the values of the metrics' variables of all replicas, one replica after the other.
type measures struct {
	replicas int // 0: no values
	data     []byte
}

// metricVariables lists the variables of all metrics. They are summed over the replicas.
func (m *Model) metricVariables() distribute.Variables {
	var list distribute.Variables
	for _, metric := range m.compiled.allMetrics() {
		list = append(list, metric.metric.Variables()...)
	}
	return list
}

// measuredVariables describes the variables that measures belong to.
func (m *Model) measuredVariables() []string {
	var list []string
	for _, metric := range m.compiled.allMetrics() {
		for _, v := range metric.metric.Variables() {
			list = append(list, fmt.Sprintf("%s/%s %v", metric.name, v.Name(), v.Type()))
		}
	}
	return list
}

// bytesOf returns the size in bytes of one copy of all variables.
func bytesOf(vars distribute.Variables) int {
	n := 0
	for _, v := range vars {
		n += v.Type().Bytes()
	}
	return n
}

func bytesArray(data []byte) kernels.Array {
	return kernels.Array{Type: ir.Type{DType: ir.Uint8, Shape: ir.Shape{len(data)}}, Data: data}
}

// measuresSoFar returns the current metrics. If other processes have their own, it returns what was shared at the end
// of the last step.
func (m *Model) measuresSoFar() (measures, error) {
	vars := m.metricVariables()
	size := bytesOf(vars)
	if distribute.WorkersOf(m.strategy) != nil {
		r := m.lastRun().recovery
		if r == nil || r.share.Replicas == 0 {
			return measures{}, nil
		}
		return r.share.metrics(size), nil
	}
	m.values.RLock()
	defer m.values.RUnlock()
	n := len(m.strategy.Devices())
	out := measures{n, make([]byte, 0, n*size)}
	for replica := range n {
		for _, v := range vars {
			b, err := v.Buffer(replica)
			if err != nil {
				return measures{}, err
			}
			from := len(out.data)
			out.data = out.data[:from+b.Type().Bytes()]
			if replica > 0 && onlyOne(v) {
				continue // counted already
			}
			if err := b.Read(out.data[from:]); err != nil {
				return measures{}, err
			}
		}
	}
	return out, nil
}

// setMeasures restores the metrics' variables of this process's replicas. If the number of replicas has changed, the
// sums are divided again.
func (m *Model) setMeasures(from measures) error {
	vars := m.metricVariables()
	size := bytesOf(vars)
	if len(from.data) != from.replicas*size {
		return fmt.Errorf("received the metrics of %d replicas in %d bytes; expected %d bytes for each", from.replicas, len(from.data), size)
	}
	m.measured.Add(1)
	m.values.Lock()
	defer m.values.Unlock()
	_, first := distribute.SplitOverWorkers(m.strategy, 0)
	same := from.replicas == m.strategy.NumReplicasInSync()
	at := 0
	for _, v := range vars {
		t := v.Type()
		part := func(replica int) []byte { return from.data[replica*size+at:][:t.Bytes()] }
		if same {
			for r := range m.strategy.Devices() {
				if r > 0 && onlyOne(v) {
					break
				}
				b, err := v.Buffer(r)
				if err == nil {
					err = b.Write(part(first + r))
				}
				if err != nil {
					return err
				}
			}
		} else if err := setSum(v, from.replicas, part); err != nil {
			return err
		}
		at += t.Bytes()
	}
	return nil
}

// onlyOne reports whether all replicas share one copy of a variable, as under central storage.
func onlyOne(v *distribute.Variable) bool {
	first, err := v.Buffer(0)
	if err != nil {
		return false
	}
	second, err := v.Buffer(1)
	return err == nil && first == second
}

// setSum sets a variable to the sum of its parts.
func setSum(v *distribute.Variable, n int, part func(i int) []byte) error {
	t := v.Type()
	sum := make([]float64, t.Shape.Size())
	for i := range n {
		a := kernels.Array{Type: t, Data: part(i)}
		for k := range sum {
			sum[k] += a.Element(k)
		}
	}
	a, err := kernels.FromFloat64s(t.DType, t.Shape, sum)
	if err != nil {
		return err
	}
	return v.SetValue(a)
}
