// Command amxemulator runs a program on a processor without Intel's matrix registers (AMX) as if it had them:
//
//	amxemulator [-require TDPBF16PS,...] [-v] PROGRAM [ARGUMENT...]
//
// The program is traced (ptrace). Where a thread stops at an instruction of AMX, which such a processor does not know,
// the emulator does what the manual says in the thread's registers and memory, and lets it go on. It keeps eight tiles
// and their configuration for each thread. All that the manual forbids ends the program with the signal that it would
// get, and a line that says why; so does configuring tiles that another configuration has not released, because kernels
// must not leave tiles behind in a thread. At the end it fails if one of the required instructions was not executed.
//
// It is for tests: the flag -exec of go test takes it. What makes package isa believe in the features is a string that
// only the linker sets. internal/test-amx.sh does both.
package main
