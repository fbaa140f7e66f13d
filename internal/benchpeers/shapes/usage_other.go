//go:build !unix

package main

import "time"

// processTime is not known on this system: it is the clock.
func processTime() float64 { return float64(time.Now().UnixNano()) / 1e9 }
