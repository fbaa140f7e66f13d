//go:build cuda && linux

package main

import _ "github.com/gokeras/gokeras/kernels/cuda" // NVIDIA GPUs: each worker trains on all that it sees
