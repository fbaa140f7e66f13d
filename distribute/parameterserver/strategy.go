package parameterserver

import (
	"context"
	"errors"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/distribute/cluster"
	"github.com/gokeras/gokeras/distribute/parameters"
)

// NewStrategy joins a job and returns its strategy, for the coordinator and the workers; see [Join]. Close it when
// training is done: the coordinator's Close ends the job. Servers call [Serve]; a program that all tasks run calls
// [RunStrategy].
func NewStrategy(ctx context.Context, o Options) (*distribute.ParameterServerStrategy, error) {
	job, err := Join(ctx, o)
	if err != nil {
		return nil, err
	}
	s, err := distribute.NewParameterServerStrategyOver(job, o.Devices)
	if err != nil {
		return nil, errors.Join(err, job.Close())
	}
	return s, nil
}

// RunStrategy is the main function of a program that all tasks run: parameter servers serve until the job is over; the
// others run the program with the strategy, which is closed when it returns.
//
//	err := parameterserver.RunStrategy(ctx, parameterserver.Options{}, func(ctx context.Context, s *distribute.ParameterServerStrategy) error {
//		model, err := keras.NewSequential(layers, distribute.Scope(s))
//		...
//		_, err = model.Fit(ctx, data.Arrays(x, y), keras.BatchSize(64), keras.StepsPerEpoch(100), keras.Epochs(3))
//		...
//		return model.Save("model.keras") // on the coordinator only
//	})
func RunStrategy(ctx context.Context, o Options, program func(ctx context.Context, s *distribute.ParameterServerStrategy) error) error {
	settings, err := o.resolve()
	if err != nil {
		return err
	}
	if settings.task.Type == cluster.ParameterServer {
		return Serve(ctx, o)
	}
	return Run(ctx, o, func(ctx context.Context, job parameters.Job) error {
		s, err := distribute.NewParameterServerStrategyOver(job, o.Devices)
		if err != nil {
			return err
		}
		return program(ctx, s)
	})
}
