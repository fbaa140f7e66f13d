// Package nvml asks NVIDIA's management library, which comes with the driver, how the GPUs of a machine are connected
// and how much of their memory is in use. It is optional: its information is shown to people, and used to choose
// between alternatives that all work.
//
// With cgo it is called through github.com/NVIDIA/go-nvml, without cgo through purego ([Binding] says which). Both bind
// the same few functions.
package nvml
