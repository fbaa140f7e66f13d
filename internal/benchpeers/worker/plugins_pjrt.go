//go:build pjrt && linux

package main

import _ "github.com/gokeras/gokeras/kernels/pjrt" // devices of PJRT plugins
