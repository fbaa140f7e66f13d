package callbacks

import (
	"fmt"
	"io"
	"math"
	"os"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/term"
)

// Progbar prints the progress of a loop as Keras does: on a terminal one line that is drawn over and over,
//
//	10/32 ━━━━━━━━━━━━━━━━━━━━ 1s 52ms/step - accuracy: 0.7734 - loss: 0.8512
//
// elsewhere a new line for each update.
type Progbar struct {
	w        io.Writer
	target   int // -1 while unknown
	width    int
	verbose  int
	interval time.Duration
	terminal bool
	now      func() time.Time

	start, last, afterFirst time.Time
	drawn                   int // visible characters of the line on the screen
	names                   []string
	values                  map[string]float64
}

// NewProgbar returns a bar for target steps (-1 for unknown) with the given verbosity: 1 draws the bar, 2 prints a line at the
// end.
func NewProgbar(w io.Writer, target, verbose int) *Progbar {
	f, ok := w.(*os.File)
	p := &Progbar{w: w, target: target, width: 20, verbose: verbose, interval: 50 * time.Millisecond, now: time.Now, values: map[string]float64{}}
	p.terminal = ok && term.IsTerminal(int(f.Fd()))
	p.start = p.now()
	return p
}

// due reports whether an update now would be drawn; asking saves working out values that nobody sees.
func (p *Progbar) due() bool { return p.verbose == 1 && p.now().Sub(p.last) >= p.interval }

// Update shows that current steps are done. Values are shown as they are. finalize ends the line.
func (p *Progbar) Update(current int, logs *Logs, finalize bool) {
	now := p.now()
	perStep := p.stepTime(current, now)
	if p.verbose == 1 && !finalize && now.Sub(p.last) < p.interval {
		return
	}
	p.keep(logs)
	switch {
	case p.verbose == 1:
		p.draw(current, finalize, now, perStep)
	case p.verbose == 2 && finalize:
		fmt.Fprintf(p.w, "%s - %.0fs -%s%s\n", p.count(current), now.Sub(p.start).Seconds(), formatStepTime(perStep), p.metrics())
	}
	p.last = now
}

func (p *Progbar) keep(logs *Logs) {
	for _, name := range logs.Names() {
		if _, known := p.values[name]; !known {
			p.names = append(p.names, name)
		}
		sum := 0.0
		v := logs.Vector(name)
		for _, x := range v {
			sum += x
		}
		p.values[name] = sum / float64(max(len(v), 1))
	}
}

// stepTime estimates the seconds of one step; the first, which compiles, does not count once there are more.
func (p *Progbar) stepTime(current int, now time.Time) float64 {
	if current == 0 {
		return 0
	}
	perStep := now.Sub(p.start).Seconds() / float64(current)
	if !p.afterFirst.IsZero() && current > 1 {
		perStep = now.Sub(p.afterFirst).Seconds() / float64(current-1)
	}
	if current == 1 {
		p.afterFirst = now
	}
	return perStep
}

func (p *Progbar) count(current int) string {
	digits := 1
	if p.target > 0 {
		digits = int(math.Log10(float64(p.target))) + 1
	}
	return fmt.Sprintf("%*d/%d", digits, current, p.target)
}

func (p *Progbar) draw(current int, finalize bool, now time.Time, perStep float64) {
	var b strings.Builder
	if p.terminal {
		b.WriteString(strings.Repeat("\b", p.drawn) + "\r")
	} else {
		b.WriteString("\n")
	}
	visible := 0
	if p.target >= 0 {
		count := p.count(current)
		done := 0
		if p.target > 0 {
			done = min(p.width*current/p.target, p.width)
		}
		b.WriteString("\x1b[1m" + count + "\x1b[0m ")
		if done > 0 {
			b.WriteString("\x1b[32m" + strings.Repeat("━", done) + "\x1b[0m")
		}
		b.WriteString("\x1b[37m" + strings.Repeat("━", p.width-done) + "\x1b[0m")
		visible = len(count) + 1 + p.width
	} else {
		fmt.Fprintf(&b, "%7d/Unknown", current)
		visible = 15
	}
	info := fmt.Sprintf(" %.0fs", now.Sub(p.start).Seconds())
	if p.target >= 0 && !finalize {
		info = " " + formatETA(perStep*float64(p.target-current))
	}
	info += formatStepTime(perStep) + p.metrics()
	b.WriteString(info)
	visible += utf8.RuneCountInString(info)
	b.WriteString(strings.Repeat(" ", max(p.drawn-visible, 0)))
	if finalize {
		b.WriteString("\n")
	}
	fmt.Fprint(p.w, b.String())
	p.drawn = visible
}

func (p *Progbar) metrics() string {
	var b strings.Builder
	for _, name := range p.names {
		v := p.values[name]
		if math.Abs(v) > 1e-3 {
			fmt.Fprintf(&b, " - %s: %.4f", name, v)
		} else {
			fmt.Fprintf(&b, " - %s: %.4e", name, v)
		}
	}
	return b.String()
}

func formatETA(seconds float64) string {
	s := int(seconds)
	switch {
	case seconds > 3600:
		return fmt.Sprintf("%d:%02d:%02d", s/3600, s%3600/60, s%60)
	case seconds > 60:
		return fmt.Sprintf("%d:%02d", s/60, s%60)
	}
	return fmt.Sprintf("%ds", s)
}

func formatStepTime(s float64) string {
	switch {
	case s >= 1 || s == 0:
		return fmt.Sprintf(" %.0fs/step", s)
	case s >= 1e-3:
		return fmt.Sprintf(" %.0fms/step", s*1e3)
	}
	return fmt.Sprintf(" %.0fus/step", s*1e6)
}

// ProgbarLogger shows a Progbar for each epoch of Fit, and for Evaluate and Predict on their own. Fit adds it when verbose.
type ProgbarLogger struct {
	Base
	verbose int
	w       io.Writer
	bar     *Progbar
	seen    int
	inFit   bool
}

// NewProgbarLogger returns a logger that prints to w with the given verbosity.
func NewProgbarLogger(verbose int, w io.Writer) *ProgbarLogger {
	return &ProgbarLogger{verbose: verbose, w: w}
}

func (l *ProgbarLogger) begin() error {
	l.bar, l.seen = NewProgbar(l.w, l.Params().Steps, l.verbose), 0
	return nil
}

func (l *ProgbarLogger) update(batch int, logs *Logs) error {
	l.seen = batch + 1
	if l.seen == 1 || l.bar.due() {
		l.bar.Update(l.seen, logs, false)
		return logs.Err()
	}
	return nil
}

func (l *ProgbarLogger) end(logs *Logs) error {
	if l.bar.target < 0 {
		l.bar.target = l.seen
	}
	l.bar.Update(l.bar.target, logs, true)
	return nil
}

// OnTrainBegin notes that validation belongs to a Fit and prints nothing of its own.
func (l *ProgbarLogger) OnTrainBegin() error { l.inFit = true; return nil }

// OnTrainEnd ends that.
func (l *ProgbarLogger) OnTrainEnd(*Logs) error { l.inFit = false; return nil }

// OnEpochBegin prints the epoch's number, where there are several, and starts its bar.
func (l *ProgbarLogger) OnEpochBegin(epoch int) error {
	if l.Params().Epochs > 1 {
		fmt.Fprintf(l.w, "Epoch %d/%d\n", epoch+1, l.Params().Epochs)
	}
	return l.begin()
}

// OnTrainBatchEnd moves the bar.
func (l *ProgbarLogger) OnTrainBatchEnd(batch int, logs *Logs) error { return l.update(batch, logs) }

// OnEpochEnd completes the bar.
func (l *ProgbarLogger) OnEpochEnd(_ int, logs *Logs) error { return l.end(logs) }

// OnTestBegin starts a bar for Evaluate.
func (l *ProgbarLogger) OnTestBegin() error {
	if l.inFit {
		return nil
	}
	return l.begin()
}

// OnTestBatchEnd moves the bar of Evaluate.
func (l *ProgbarLogger) OnTestBatchEnd(batch int, logs *Logs) error {
	if l.inFit {
		return nil
	}
	return l.update(batch, logs)
}

// OnTestEnd completes the bar of Evaluate.
func (l *ProgbarLogger) OnTestEnd(logs *Logs) error {
	if l.inFit {
		return nil
	}
	return l.end(logs)
}

// OnPredictBegin starts a bar for Predict.
func (l *ProgbarLogger) OnPredictBegin() error { return l.begin() }

// OnPredictBatchEnd moves the bar of Predict.
func (l *ProgbarLogger) OnPredictBatchEnd(batch int) error { return l.update(batch, nil) }

// OnPredictEnd completes the bar of Predict.
func (l *ProgbarLogger) OnPredictEnd() error { return l.end(nil) }

// WantsBatches reports that the bar moves with the batches.
func (l *ProgbarLogger) WantsBatches() bool { return l.verbose == 1 }
