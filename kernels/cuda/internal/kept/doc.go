// Package kept stores compiled kernels in files, for later starts of a program.
//
// A file holds one kernel for one kind of device and one version of the driver; all three are in its key. Files are
// written under a temporary name and renamed, so that readers never see partial ones. A file's contents are used only
// if the checksum of key and contents matches; otherwise the file is ignored and replaced. The folder's size is
// limited: the least recently used files are removed first.
package kept
