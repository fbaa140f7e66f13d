package callbacks

// MonitorMode says which values of a monitored result are better. The zero value is MonitorAuto.
type MonitorMode string

const (
	MonitorAuto MonitorMode = "auto" // depends on the metric
	MonitorMin  MonitorMode = "min"
	MonitorMax  MonitorMode = "max"
)
