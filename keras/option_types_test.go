package keras_test

import (
	"reflect"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/data/datasets"
	"github.com/gokeras/gokeras/distribute"
	"github.com/gokeras/gokeras/keras"
	"github.com/gokeras/gokeras/keras/estimator"
)

// TestOptionTypes: which functions take which option is what the compiler sees, the type that the option's function
// returns and that of the functions' last argument.
func TestOptionTypes(t *testing.T) {
	var m *keras.Model
	var e *estimator.Estimator
	for _, group := range []struct {
		functions map[string]any
		takes     map[string][]any
	}{{
		map[string]any{"Fit": m.Fit, "Evaluate": m.Evaluate, "EvaluateLogs": m.EvaluateLogs, "Predict": m.Predict, "PredictRows": m.PredictRows,
			"PredictAll": m.PredictAll, "TrainOnBatch": m.TrainOnBatch, "TestOnBatch": m.TestOnBatch, "NewSequential": keras.NewSequential,
			"LoadModel": keras.LoadModel, "ReadModel": keras.ReadModel, "LoadWeights": m.LoadWeights, "Save": m.Save},
		map[string][]any{
			"Fit": {keras.BatchSize, keras.Verbose, keras.Callbacks, keras.ProgressOutput, keras.RefuseNaN, keras.ClassWeight, keras.Epochs, keras.InitialEpoch,
				keras.StepsPerEpoch, keras.Shuffle, keras.ShuffleInsideBatches, keras.ShuffleSeed, keras.ValidationSplit, keras.ValidationData,
				keras.ValidationBatchSize, keras.ValidationSteps, keras.ValidationFrequency, keras.ValidationEpochs},
			"Evaluate":      {keras.BatchSize, keras.Verbose, keras.Callbacks, keras.ProgressOutput, keras.RefuseNaN, keras.Steps},
			"EvaluateLogs":  {keras.BatchSize, keras.Verbose, keras.Callbacks, keras.ProgressOutput, keras.RefuseNaN, keras.Steps},
			"Predict":       {keras.BatchSize, keras.Verbose, keras.Callbacks, keras.ProgressOutput, keras.RefuseNaN, keras.Steps},
			"PredictRows":   {keras.BatchSize, keras.Verbose, keras.Callbacks, keras.ProgressOutput, keras.RefuseNaN, keras.Steps},
			"PredictAll":    {keras.BatchSize, keras.Verbose, keras.Callbacks, keras.ProgressOutput, keras.RefuseNaN, keras.Steps},
			"TrainOnBatch":  {keras.ClassWeight, keras.ProgressOutput, keras.RefuseNaN},
			"TestOnBatch":   {keras.ProgressOutput, keras.RefuseNaN},
			"NewSequential": {keras.Name, keras.Seed, keras.DTypePolicy, keras.InputShape, keras.InputDType, distribute.Scope},
			"LoadModel":     {keras.WithoutCompile, keras.Report, keras.Seed, distribute.Scope},
			"ReadModel":     {keras.WithoutCompile, keras.Report, keras.Seed, distribute.Scope},
			"LoadWeights":   {keras.SkipMismatch, keras.ByName, keras.Report},
			"Save":          {keras.WithoutCompile, keras.AsFolder},
		},
	}, {
		map[string]any{"Train": e.Train, "Evaluate": e.Evaluate, "Predict": e.Predict},
		map[string][]any{
			"Train":    {estimator.Steps, estimator.MaxSteps, estimator.Hooks, estimator.SavingListeners},
			"Evaluate": {estimator.Steps, estimator.Hooks, estimator.Name, estimator.CheckpointPath},
			"Predict":  {estimator.Hooks, estimator.CheckpointPath},
		},
	}, {
		map[string]any{"ImageFolder": data.ImageFolder, "Text": data.TextDatasetFromDirectory, "Audio": data.AudioDatasetFromDirectory},
		map[string][]any{
			"ImageFolder": {data.Labels, data.ImageBatchSize, data.ImagesInOrder, data.ImageSeed, data.ValidationSplit, data.ClassNames, data.FileLabels,
				data.FollowLinks, data.ImageWorkers, data.Colors, data.ImageInterpolation, data.CropToAspectRatio, data.PadToAspectRatio},
			"Text": {data.Labels, data.ImageBatchSize, data.ImagesInOrder, data.ImageSeed, data.ValidationSplit, data.ClassNames, data.FileLabels,
				data.FollowLinks, data.ImageWorkers, data.MaxLength},
			"Audio": {data.Labels, data.ImageBatchSize, data.ImagesInOrder, data.ImageSeed, data.ValidationSplit, data.ClassNames, data.FileLabels,
				data.FollowLinks, data.ImageWorkers, data.AudioSamplingRate, data.OutputSequenceLength},
		},
	}, {
		map[string]any{"MNIST": datasets.MNIST, "Boston": datasets.BostonHousing, "California": datasets.CaliforniaHousing, "IMDB": datasets.IMDB,
			"Reuters": datasets.Reuters, "IMDBWordIndex": datasets.IMDBWordIndex},
		map[string][]any{
			"MNIST":         {datasets.Directory, datasets.Download, datasets.Embedded},
			"Boston":        {datasets.Directory, datasets.Download, datasets.Embedded, datasets.ShuffleSeed, datasets.TestSplit},
			"California":    {datasets.Directory, datasets.Download, datasets.Embedded, datasets.ShuffleSeed, datasets.TestSplit, datasets.Small},
			"IMDB":          {datasets.Directory, datasets.Download, datasets.Embedded, datasets.ShuffleSeed, datasets.NumWords, datasets.SkipTop, datasets.MaxLength},
			"Reuters":       {datasets.Directory, datasets.Download, datasets.Embedded, datasets.ShuffleSeed, datasets.TestSplit, datasets.NumWords, datasets.SkipTop, datasets.MaxLength},
			"IMDBWordIndex": {datasets.Directory, datasets.Download, datasets.Embedded},
		},
	}} {
		var options []reflect.Value // all of the group
		for _, list := range group.takes {
			for _, option := range list {
				options = append(options, reflect.ValueOf(option))
			}
		}
		for name, function := range group.functions {
			f := reflect.TypeOf(function)
			require.True(t, f.IsVariadic(), name)
			wanted := f.In(f.NumIn() - 1).Elem()
			for _, option := range options {
				takes := slices.ContainsFunc(group.takes[name], func(o any) bool { return reflect.ValueOf(o).Pointer() == option.Pointer() })
				require.Equal(t, takes, option.Type().Out(0).AssignableTo(wanted), "%s and an option that is a %v", name, option.Type().Out(0))
			}
		}
	}
}
