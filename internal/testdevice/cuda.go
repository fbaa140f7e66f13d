//go:build linux && (cuda || cudafake)

package testdevice

import _ "github.com/gokeras/gokeras/kernels/cuda"
