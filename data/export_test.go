package data

// ByGoroutine lets a goroutine fill the batches of a loader, however small they are.
func ByGoroutine() LoaderOption { return loaderOption(func(l *Loader) { l.direct = false }) }
