// Command amxemulator runs a program on a processor without Intel's matrix registers (AMX) as if it had them:
//
//	amxemulator [-require TDPBF16PS,...] [-v] PROGRAM [ARGUMENT...]
//
// The program is traced (ptrace). When a thread stops at an AMX instruction, which such a processor does not know, the
// emulator executes it on the thread's registers and memory according to the manual, and lets the thread continue. It
// keeps eight tiles and their configuration for each thread. Anything that the manual forbids ends the program with the
// signal that it would get, and a line that says why. So does configuring tiles before an earlier configuration was
// released, because kernels must not leave tiles behind in a thread. At the end it fails if one of the required
// instructions was not executed.
//
// It is for tests: the flag -exec of go test takes it. A string that only the linker sets makes package isa believe
// that the features exist. internal/test-amx.sh does both.
package main
