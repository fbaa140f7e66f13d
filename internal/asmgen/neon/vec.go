package main

func emitVec() string { return "package vec\n" }
