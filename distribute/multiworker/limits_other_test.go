//go:build unix && !linux

package multiworker_test

func limited() map[string]role { return nil }
