//go:build race

package cpu

// Replicas run in parallel so that the race detector can see races between them.
func init() { maxTurnSeconds = 0 }
