// Package datasets loads well-known sets of examples. Nothing is downloaded unless it is asked for.
package datasets
