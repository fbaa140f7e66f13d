// Package exec runs traced code on replicas: functions that are traced once and compiled for each shape, the instances
// that run them, the variables that outlive a step, and the replicas that traces are made for.
//
// It knows strategies only by their [Placement]: which devices run replicas, where variables are stored, and how
// replicas communicate. Programs write distribute.Function, distribute.Variable and distribute.Replica, which are
// aliases of this package's types; package distribute decides where replicas run and how their values are combined.
package exec
