// Package opstest helps to test code built on package ops: it runs traced functions and compares their gradients with
// finite differences.
package opstest
