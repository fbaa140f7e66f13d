package callbacks

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/pprof"
)

// cpuProfile is a profile that is being taken.
type cpuProfile struct {
	file *os.File
	done bool
}

// startProfile starts profiling at the first requested batch. If the program is already being profiled, training
// continues: a message is printed and no profile is written.
func (c *TensorBoard) startProfile() error {
	if len(c.ProfileBatch) == 0 || c.profile.done || c.batch != int64(c.ProfileBatch[0]) {
		return nil
	}
	c.profile.done = true
	last := c.ProfileBatch[len(c.ProfileBatch)-1]
	path := filepath.Join(c.dir(), "train", fmt.Sprintf("batches_%d_%d.pprof", c.ProfileBatch[0], last))
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return err
	}
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	if err := pprof.StartCPUProfile(f); err != nil {
		fmt.Fprintf(c.Model().Output(), "TensorBoard: no profile: %v\n", err)
		return errors.Join(f.Close(), os.Remove(path))
	}
	c.profile.file = f
	return nil
}

// stopProfile ends the profile after the last requested batch, or at once.
func (c *TensorBoard) stopProfile(now bool) error {
	f := c.profile.file
	if f == nil || !now && c.batch < int64(c.ProfileBatch[len(c.ProfileBatch)-1]) {
		return nil
	}
	pprof.StopCPUProfile()
	c.profile.file = nil
	return f.Close()
}
