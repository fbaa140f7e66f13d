package estimator

import (
	"fmt"
	"io"

	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/distribute/cluster"
)

// RunConfig says where and how an [Estimator] runs: tf.estimator.RunConfig. The zero value is TensorFlow's default.
type RunConfig struct {
	// TrainDistribute and EvalDistribute are the strategies of Train and Evaluate; nil is one replica on the CPU.
	// Predict always uses one replica, as in TensorFlow.
	TrainDistribute, EvalDistribute distribute.Strategy
	// ModelDir is the folder of the checkpoints, which is created if it does not exist. "" creates a temporary folder,
	// which is not removed.
	ModelDir string
	// SaveCheckpointsSteps or SaveCheckpointsSecs is the number of steps or seconds between two checkpoints. At most
	// one may be set; without either it is 600 seconds. Training also saves at its beginning and at its end.
	SaveCheckpointsSteps, SaveCheckpointsSecs int
	// KeepCheckpointMax is how many of the newest checkpoints are kept; nil is 5, 0 is all.
	KeepCheckpointMax *int
	// LogStepCountSteps is the number of steps between two lines about loss and speed in LogOutput; nil is 100, 0 is
	// never.
	LogStepCountSteps *int
	// SaveSummarySteps is the number of steps between two TensorBoard summaries in ModelDir, with the loss, fetches and
	// steps per second; nil is 100, 0 is never. Evaluate writes its results to the folder eval there.
	SaveSummarySteps *int
	// LogOutput is where Train and Evaluate report their progress; nil is nowhere.
	LogOutput io.Writer
	// TFRandomSeed seeds initial values and random layers.
	TFRandomSeed uint64
	// WarmStartFrom initializes a new model from another one; nil uses the initializers.
	WarmStartFrom *WarmStartSettings
	// Cluster determines the role of this process in a job of several; nil means a process on its own.
	// &cluster.TFConfig{} reads TF_CONFIG, which TensorFlow does by default. See [RunConfig.Role] and
	// [TrainAndEvaluate].
	Cluster cluster.Resolver
}

const (
	defaultSaveSecs = 600
	defaultKeep     = 5
	defaultLogSteps = 100
	defaultSummary  = 100
)

// Validate reports incompatible settings, in TensorFlow's words.
func (c RunConfig) Validate() error {
	switch {
	case c.SaveCheckpointsSteps != 0 && c.SaveCheckpointsSecs != 0:
		return fmt.Errorf("estimator: RunConfig: `save_checkpoints_steps` and `save_checkpoints_secs` cannot be both set, received SaveCheckpointsSteps %d and SaveCheckpointsSecs %d; set one of them to 0",
			c.SaveCheckpointsSteps, c.SaveCheckpointsSecs)
	case c.SaveCheckpointsSteps < 0:
		return fmt.Errorf("estimator: RunConfig: save_checkpoints_steps should be >= 0, received SaveCheckpointsSteps %d", c.SaveCheckpointsSteps)
	case c.SaveCheckpointsSecs < 0:
		return fmt.Errorf("estimator: RunConfig: save_checkpoints_secs should be >= 0, received SaveCheckpointsSecs %d", c.SaveCheckpointsSecs)
	case or(c.KeepCheckpointMax, 0) < 0:
		return fmt.Errorf("estimator: RunConfig: keep_checkpoint_max should be >= 0, received KeepCheckpointMax %d", *c.KeepCheckpointMax)
	case or(c.LogStepCountSteps, 0) < 0:
		return fmt.Errorf("estimator: RunConfig: log_step_count_steps should be >= 0, received LogStepCountSteps %d", *c.LogStepCountSteps)
	case or(c.SaveSummarySteps, 0) < 0:
		return fmt.Errorf("estimator: RunConfig: save_summary_steps should be >= 0, received SaveSummarySteps %d", *c.SaveSummarySteps)
	}
	if _, err := c.Role(); err != nil {
		return err
	}
	return c.WarmStartFrom.validate()
}

// saving returns the intervals of checkpoints; one of the two is 0.
func (c RunConfig) saving() (steps, secs int) {
	if c.SaveCheckpointsSteps == 0 && c.SaveCheckpointsSecs == 0 {
		return 0, defaultSaveSecs
	}
	return c.SaveCheckpointsSteps, c.SaveCheckpointsSecs
}

// strategyFor returns the strategy of a session.
func (c RunConfig) strategyFor(mode ModeKey) distribute.Strategy {
	s := c.TrainDistribute
	switch mode {
	case EVAL:
		s = c.EvalDistribute
	case PREDICT:
		s = nil
	}
	if s == nil {
		return distribute.Default()
	}
	return s
}

// or returns what p points to, or the default.
func or[T any](p *T, def T) T {
	if p == nil {
		return def
	}
	return *p
}
