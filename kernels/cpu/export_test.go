package cpu

import "github.com/gokeras/gokeras/kernels"

// StepNames lists the steps of an executable in order.
func StepNames(e kernels.Executable) []string {
	var names []string
	for _, s := range e.(*executable).schedule.steps {
		names = append(names, s.name)
	}
	return names
}
