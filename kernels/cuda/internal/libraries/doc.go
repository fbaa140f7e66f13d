// Package libraries finds NVIDIA libraries that a machine may have besides the driver, and their versions. None is
// needed, and looking for them changes nothing.
package libraries
