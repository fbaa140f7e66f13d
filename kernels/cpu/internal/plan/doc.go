// Package plan gives the values of a program their memory.
//
// [Place] finds a [Storage] for every value that is needed in memory: views share their operand's, outputs are computed
// in the output buffers, a variable's new value in the variable, results in place of an operand that is not needed any
// more (place.go). [Memory] then lets storages that are never alive together share the arena. storage.go is what a step
// sees of a value, an [Operand]; huge_pages.go where large memory lies; memory.go refuses what a machine does not have.
package plan
