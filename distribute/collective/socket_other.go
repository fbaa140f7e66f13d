//go:build !linux

package collective

// vectorReader fills many buffers.
type vectorReader = plainReader
