//go:build !race

package keras_test

// raceDetector says whether the tests run under the race detector.
const raceDetector = false
