// Package pjrt runs programs on the devices of PJRT plugins: Google's TPUs through libtpu, and whatever else XLA has a
// plugin for. Programs are written as StableHLO by package kernels/stablehlo and compiled by the plugin; memory lies on
// the device.
//
// A program imports the package for its effect,
//
//	import _ "github.com/gokeras/gokeras/kernels/pjrt"
//
// and then finds devices "tpu:0", "tpu:1", ... where libtpu is installed, and "xla:0", ... where the environment
// variable GOKERAS_PJRT_PLUGIN names the file of another plugin. Nothing is loaded before a device is asked for. The
// package works on Linux; elsewhere it registers nothing. It makes a program dynamic, as opening libraries needs the
// system's loader.
//
// Where GOKERAS_PJRT_CACHE names a folder, compiled programs are kept there, and later processes load them instead of
// compiling. Only its owner may be able to write to it: its files contain code.
//
// Where libtpu is sought: TPU_LIBRARY_PATH, the site-packages folders of $VIRTUAL_ENV and $CONDA_PREFIX,
// /lib/libtpu.so, /usr/lib/libtpu.so.
package pjrt
