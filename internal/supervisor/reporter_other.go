//go:build !unix

package supervisor

// reporter does nothing here: processes inherit standard files only.
type reporter struct{}

func newReporter(int) *reporter { return nil }

func (*reporter) say(string) {}
