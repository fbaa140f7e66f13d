// Package smalldisk mounts disks in memory that a test fills, on Linux.
package smalldisk
