// Package exec runs traced code on replicas: functions that are traced once and compiled for each shape, the instances
// that run them, the variables that outlive a step, and the replicas that traces are made for.
//
// It knows nothing of strategies but their [Placement]: which devices run replicas, where variables lie, and how
// replicas meet. Programs write distribute.Function, distribute.Variable and distribute.Replica, which are the types of
// this package; package distribute says where replicas run and how their values are combined.
package exec
