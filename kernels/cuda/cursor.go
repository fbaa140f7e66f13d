//go:build linux

package cuda

import "github.com/gokeras/gokeras/kernels/cuda/internal/lower"

// cursor is a position in a plan, between two collectives.
type cursor struct{ frames []frame }

// frame is a list of steps: those of the plan, or the body of a loop.
type frame struct {
	steps []lower.Step
	at    int
	loop  *lower.Step
	round int
}

func (c *cursor) reset(steps []lower.Step) { c.frames = append(c.frames[:0], frame{steps: steps}) }

// next launches everything before the next collective, and returns that; nil at the end.
func (c *cursor) next(s *session) (*lower.Step, error) {
	for len(c.frames) > 0 {
		f := &c.frames[len(c.frames)-1]
		if f.at == len(f.steps) {
			if f.loop != nil && f.round+1 < f.loop.Length {
				f.round++
				f.at = 0
				s.enter(f.loop, f.round)
				continue
			}
			c.frames = c.frames[:len(c.frames)-1]
			continue
		}
		step := &f.steps[f.at]
		f.at++
		var err error
		switch step.Kind {
		case lower.Launch:
			err = s.kernel(step)
		case lower.While:
			err = s.while(step)
		case lower.Multiply:
			err = s.multiply(step)
		case lower.Loop:
			if step.Length > 0 {
				s.enter(step, 0)
				c.frames = append(c.frames, frame{steps: step.Body, loop: step})
			}
		case lower.Collect:
			return step, nil
		case lower.Await:
			err = s.await(step)
		}
		if err != nil {
			return nil, err
		}
	}
	return nil, nil
}

// enter sets the position of a loop.
func (s *session) enter(loop *lower.Step, round int) {
	if loop.Reverse {
		round = loop.Length - 1 - round
	}
	s.loops[loop.Loop] = int64(round)
}
