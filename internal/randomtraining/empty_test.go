package randomtraining

import "testing"

// TestEmptyMeasures compares losses and metrics of no elements, of weights that are all zero, and of masks that leave
// nothing, with Keras's (empty.py). RANDOM_EMPTY_MEASURES is another file of cases.
func TestEmptyMeasures(t *testing.T) {
	compareMeasures(t, load[measure](t, "RANDOM_EMPTY_MEASURES", "testdata/empty.json.gz"))
}

// TestFreshEmptyMeasures compares losses and metrics that empty.py draws now.
func TestFreshEmptyMeasures(t *testing.T) {
	drawFresh(t, "empty.py", "RANDOM_EMPTY_MEASURES", "20")
	TestEmptyMeasures(t)
}
