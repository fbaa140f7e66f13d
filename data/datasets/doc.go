// Package datasets loads well-known datasets. Nothing is downloaded unless requested.
package datasets
