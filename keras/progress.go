package keras

import (
	"context"
	"io"
)

// progress is the position of a run. With the weights and the step count, it is all that is needed to resume.
type progress struct {
	Epoch int // the current epoch, or the next one
	Done  int // number of its batches that were trained on
	// The pass over the data, which with StepsPerEpoch may have begun in an earlier epoch. HasPass is false for backups
	// that do not store it.
	PassEpoch, PassDone int
	HasPass             bool
	Measured            bool // the metrics of the epoch so far are known too
}

// reached records the position after a step or epoch.
func (t *trainer) reached(epoch, done int) {
	pass, taken := t.source.position()
	t.now.at = progress{Epoch: epoch, Done: done, PassEpoch: pass, PassDone: taken, HasPass: true, Measured: true}
}

// moveOn goes to the position that a callback restored or that other workers are at. The next batch read is then the
// first to train on.
func (t *trainer) moveOn(ctx context.Context) error {
	p := t.now.resume
	if p == nil {
		return nil
	}
	t.now.at = *p
	if t.first != nil && p.Epoch == t.c.initialEpoch && p.Done == 0 && !p.HasPass { // the data are there already
		return nil
	}
	t.c.initialEpoch, t.first, t.skipped, t.measured = p.Epoch, nil, 0, false
	t.source.close()
	if p.Epoch >= t.c.epochs {
		return nil
	}
	if p.HasPass {
		if err := t.source.restore(ctx, p.PassEpoch, p.PassDone); err != nil {
			return err
		}
		if p.Done == 0 {
			return t.source.begin(ctx, p.Epoch)
		}
		t.skipped, t.measured = p.Done, p.Measured
		return nil
	}
	if err := t.source.begin(ctx, p.Epoch); err != nil || p.Done == 0 {
		return err
	}
	return t.skip(ctx, p.Epoch, p.Done)
}

// skip skips the first batches of an epoch. If nothing of it remains, it goes to the next epoch.
func (t *trainer) skip(ctx context.Context, epoch, batches int) error {
	limit := t.source.steps()
	for t.skipped = 0; t.skipped <= batches && (limit < 0 || t.skipped < limit); t.skipped++ {
		b, err := t.source.next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		if t.skipped == batches {
			t.first = b
			return nil
		}
	}
	t.c.initialEpoch, t.skipped, t.now.at = epoch+1, 0, progress{Epoch: epoch + 1}
	if epoch+1 >= t.c.epochs {
		return nil
	}
	return t.source.begin(ctx, epoch+1)
}
