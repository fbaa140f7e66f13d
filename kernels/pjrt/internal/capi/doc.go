// Package capi calls the C interface of PJRT plugins, the libraries through which XLA drives processors: CPUs, GPUs and
// TPUs. No cgo is needed: the library is opened while the program runs, and its functions are found in the table that
// GetPjrtApi returns.
//
// Every function takes one block of arguments, whose first word is its size in bytes, and returns an error object or
// null. A plugin refuses blocks shorter than it expects and accepts longer ones, so blocks here have a tail of zeros: a
// plugin that is newer than this package finds zeros in the fields that it has added. The offsets in this file hold
// from version 0.57 of the interface on; blocks that are elements of arrays (named values, the program) have their
// exact sizes.
//
// Source: pjrt_c_api.h of OpenXLA.
package capi
