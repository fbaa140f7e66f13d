package main

// plugin is a library that drives devices.
type plugin struct {
	Kind     string `json:"kind"` // of its devices
	Path     string `json:"path,omitempty"`
	Platform string `json:"platform,omitempty"`
	Version  string `json:"interface,omitempty"` // of the plugin interface
	Problem  string `json:"problem,omitempty"`   // why it cannot be used
	// Memories lists the memories that each device can access, by the name of the device, if the plugin distinguishes
	// memories.
	Memories map[string][]deviceMemory `json:"memories,omitempty"`
}

// deviceMemory is a memory that a device can access.
type deviceMemory struct {
	ID      int    `json:"id"`
	Kind    string `json:"kind"` // "device", "pinned_host", ...
	Text    string `json:"text"`
	Devices []int  `json:"devices"` // numbers of those that reach it
	Default bool   `json:"default"` // programs have their arrays there
}

// plugins lists the PJRT plugins that this program looks for; nil if it was built without plugins.
var plugins func() []plugin

// gpus describes NVIDIA's GPUs, a line for each, or says why there are none; nil if this program was built without
// GPUs.
var gpus func() ([]string, error)

// nvidiaLibraries describes NVIDIA's libraries that were found, and says which are missing, a line for each; nil if
// this program was built without GPUs.
var nvidiaLibraries func() []string

// topology describes how NVIDIA's GPUs are connected; nil if this program was built without GPUs.
var topology func() (string, error)
