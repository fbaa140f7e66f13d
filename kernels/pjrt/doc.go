// Package pjrt runs programs on the devices of PJRT plugins: Google's TPUs through libtpu, and any other device for
// which XLA has a plugin. Programs are written as StableHLO by package kernels/stablehlo and compiled by the plugin;
// memory is on the device.
//
// A program imports the package for its side effect,
//
//	import _ "github.com/gokeras/gokeras/kernels/pjrt"
//
// and then finds devices "tpu:0", "tpu:1", ... where libtpu is installed, and "xla:0", ... where the environment
// variable GOKERAS_PJRT_PLUGIN names the file of another plugin. Nothing is loaded before a device is requested. The
// package works on Linux; elsewhere it registers nothing. It makes a program dynamically linked, because opening
// libraries needs the system's loader.
//
// If GOKERAS_PJRT_CACHE names a folder, compiled programs are kept there, and later processes load them instead of
// compiling. Only its owner may be able to write to it: its files contain code.
//
// libtpu is searched for in TPU_LIBRARY_PATH, the site-packages folders of $VIRTUAL_ENV and $CONDA_PREFIX,
// /lib/libtpu.so, /usr/lib/libtpu.so.
package pjrt
