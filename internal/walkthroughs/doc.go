// Package walkthroughs holds the worked examples of CONTRIBUTING.md: patches that each add one thing to the library.
//
// A patch begins with lines that say which packages it changes, which tests of them must pass and how many files it may
// touch. The tests of this package apply every patch to copies of the files, in memory of the compiler alone (go's flag
// -overlay), so that the page cannot rot: "go test" shows that the patches apply and keep to their bounds, and "make
// walkthroughs" that what they make compiles and passes its tests.
package walkthroughs
