// Package opstest helps to test what is built on package ops: it runs traced functions and compares their gradients
// with finite differences.
package opstest
