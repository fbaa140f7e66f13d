package main

// curated are changes that a program once passed its tests with, or that are easy to make and hard to see: file, what stands there, what takes its place.
var curated = [][3]string{
	{"layers/batch_normalization.go", "number(l.Epsilon, 1e-3)", "number(l.Epsilon, 2e-3)"},
	{"layers/batch_statistics.go", "number(l.Momentum, 0.99)", "number(l.Momentum, 0.98)"},
	{"layers/batch_statistics.go", "number(l.RenormMomentum, 0.99)", "number(l.RenormMomentum, 0.98)"},
	{"layers/layer_normalization.go", "number(l.Epsilon, 1e-3)", "number(l.Epsilon, 1e-5)"},
	{"metrics/auc.go", "{-objectives.Epsilon}", "{0}"},
	{"metrics/auc.go", "{1 + objectives.Epsilon}", "{1}"},
	{"optimizers/adam.go", "or(o.Beta2, 0.999)", "or(o.Beta2, 0.99)"},
	{"optimizers/adam.go", "or(o.Epsilon, 1e-7)", "or(o.Epsilon, 1e-8)"},
	{"optimizers/rmsprop.go", "or(o.Rho, 0.9)", "or(o.Rho, 0.99)"},
	{"optimizers/apply.go", "or(o.EMAMomentum, 0.99)", "or(o.EMAMomentum, 0.9)"},
}
