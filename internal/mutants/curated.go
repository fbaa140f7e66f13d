package main

// curated are changes that a program once passed its tests with, or that are easy to make and hard to see: file, what
// stands there, what takes its place.
var curated = [][3]string{
	{"layers/batch_normalization.go", "number(l.Epsilon, 1e-3)", "number(l.Epsilon, 2e-3)"},
	{"layers/batch_statistics.go", "number(l.Momentum, 0.99)", "number(l.Momentum, 0.98)"},
	{"layers/batch_statistics.go", "number(l.RenormMomentum, 0.99)", "number(l.RenormMomentum, 0.98)"},
	{"layers/layer_normalization.go", "number(l.Epsilon, 1e-3)", "number(l.Epsilon, 1e-5)"},
	{"metrics/auc.go", "{-objectives.Epsilon}", "{0}"},
	{"metrics/auc.go", "{1 + objectives.Epsilon}", "{1 - objectives.Epsilon}"},
	{"optimizers/adam.go", "or(o.Beta2, 0.999)", "or(o.Beta2, 0.99)"},
	{"optimizers/adam.go", "or(o.Epsilon, 1e-7)", "or(o.Epsilon, 1e-8)"},
	{"optimizers/rmsprop.go", "or(o.Rho, 0.9)", "or(o.Rho, 0.99)"},
	{"optimizers/apply.go", "or(o.EMAMomentum, 0.99)", "or(o.EMAMomentum, 0.9)"},
}

// equivalent are drawn changes that change no result, and why: file, the line, the change.
var equivalent = map[[3]string]string{
	{"kernels/cpu/internal/micro/row_amd64.go", "rows := max(rowProductElements/len(dst)/8*8, 8)", "* becomes /"}:                                                       "a block of another length: the same sums in the same order",
	{"kernels/cpu/convolution.go", "n := min((wantBands-1)/s.Batch+1, out[1]/2, max(s.FLOPs()/s.Batch/bandFLOPs, 1), max(out[1]*out[2]/bandPixels, 1))", "1 becomes 2"}: "another number of bands, each of which is computed alone",
	{"losses/compute.go", "if n := w.count(w.values.Shape()); n > 0 {", "0 becomes 1"}:                                                                                  "a quotient by 1 is the dividend",
	{"keras/ops/random_binomial.go", "a := AddScalar(Add(MultiplyScalar(hat, 0.0248), MultiplyScalar(p, 0.01)), -0.0873)", "Add becomes Subtract"}:                      "another hat: what is rejected follows it, so the distribution stays, within 2e-5 by integration",
	{"optimizers/base.go", "if err := v.Place(s, 0); err != nil {", "0 becomes 1"}:                                                                                      "the seed of variables whose first values are constants",
	{"layers/constraints/constraints.go", "if rate != 1 {", "1 becomes 2"}:                                                                                              "the share 1 of the way is the whole way",
	{"metrics/auc.go", "m.confusion.thresholds = slices.Concat([]float64{-objectives.Epsilon}, inner, []float64{1 + objectives.Epsilon})", "1 becomes 2"}:               "no prediction is above 1",
	{"metrics/confusion.go", "bucket = ops.Where(ops.CompareScalar(ir.Lt, bucket, 0), ops.FullLike(bucket, -1), place)", "1 becomes 2"}:                                 "every negative place counts for nobody",
}
