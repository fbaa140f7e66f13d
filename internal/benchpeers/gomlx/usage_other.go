//go:build !unix

package main

// processTime is not known on this system.
func processTime() float64 { return 0 }

// peakRSS is not known on this system.
func peakRSS() float64 { return 0 }
