//go:build race

package cpu

// The race detector is to see replicas at the same time.
func init() { mostInTurns = 0 }
