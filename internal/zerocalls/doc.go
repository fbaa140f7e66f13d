// Package zerocalls has a test that calls everything that packages export with zero values: nothing panics.
package zerocalls
