// Package libraries finds optional NVIDIA libraries besides the driver, and their versions. Looking for them has no
// side effects.
package libraries
