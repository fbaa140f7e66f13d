// Package kept keeps what the driver has compiled in files, for the next start of a program.
//
// A file belongs to one kernel, for one kind of device and one version of the driver, which its key says. Files are
// written beside and renamed, so a reader sees whole ones. What is in a file is used only if the checksum in it is that
// of the key and the contents: anything else that lies there is ignored, and replaced. The folder does not grow beyond
// a limit; what was not used for the longest time goes first.
package kept
