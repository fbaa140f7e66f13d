// Package schedules makes the learning rate a function of the number of steps taken: the learning-rate schedules of
// Keras.
//
// A schedule is set as an optimizer's LearningRate:
//
//	&optimizers.Adam{LearningRate: &schedules.CosineDecay{InitialLearningRate: 1e-3, DecaySteps: 10_000}}
//
// The step s is the optimizer's iteration: 0 for the first update. Under gradient accumulation it counts every batch.
package schedules
