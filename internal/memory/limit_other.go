//go:build !linux

package memory

// Limit is as large as can be: what other systems allow is not asked.
var Limit = func() int { return Addressable }

func systemRooms(heap) []room { return nil }
