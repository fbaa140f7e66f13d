package main

// plugin is a library that drives devices.
type plugin struct {
	Kind     string `json:"kind"` // of its devices
	Path     string `json:"path,omitempty"`
	Platform string `json:"platform,omitempty"`
	Version  string `json:"interface,omitempty"` // of the plugin interface
	Problem  string `json:"problem,omitempty"`   // why it cannot be used
}

// plugins lists the PJRT plugins that this program looks for; nil where it was built without.
var plugins func() []plugin

// gpus describes NVIDIA's GPUs, a line for each, or says why there are none; nil where this program was built without.
var gpus func() ([]string, error)

// nvidiaLibraries describes the libraries of NVIDIA that are found, and says which are not, a line for each; nil where
// this program was built without GPUs.
var nvidiaLibraries func() []string

// topology describes how NVIDIA's GPUs are connected; nil where this program was built without.
var topology func() (string, error)
