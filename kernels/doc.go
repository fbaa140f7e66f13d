// Package kernels holds the interfaces between the tracing half of the library and the backends that execute programs,
// and the registry of devices ("cpu:0", "gpu:1", "tpu:0").
//
// A backend registers itself in init, as database/sql drivers do; importing it for its side effect makes its devices
// available. Package kernels/cpu is imported by the library itself.
package kernels
