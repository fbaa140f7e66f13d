// Package kept stores compiled kernels in files, for the next start of a program.
//
// A file belongs to one kernel, for one kind of device and one version of the driver, which are in its key. Files are
// written under another name and renamed, so a reader sees whole ones. The contents of a file are used only if its
// checksum matches the key and the contents: anything else is ignored, and replaced. The folder does not grow beyond a
// limit; the least recently used files are removed first.
package kept
