// Package libraries finds libraries of NVIDIA that a machine may have besides the driver, and tells their versions.
// None is needed, and looking for them changes nothing.
package libraries
