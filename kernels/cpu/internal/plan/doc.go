// Package plan assigns memory to the values of a program.
//
// [Place] finds a [Storage] for every value that is needed in memory (place.go). Views share their operand's storage.
// Outputs are computed in the output buffers, a variable's new value in the variable, and other results in place of an
// operand that is no longer needed. [Memory] then lets storages that are never alive together share the arena.
// storage.go defines what a step sees of a value, an [Operand]. huge_pages.go allocates large memory. memory.go refuses
// requests that exceed the machine's memory.
package plan
