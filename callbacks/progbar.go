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
// elsewhere a new line for each update. Colours are those of Keras in both cases.
type Progbar struct {
	// Width is the length of the bar.
	Width int
	// Interval is the least time between two updates that are drawn.
	Interval time.Duration
	// Unit names what is counted: "step".
	Unit string
	// Averaged says which values are shown as their mean over the steps so far instead of as they are; nil for none. A value given
	// at step n counts for all steps since the update before.
	Averaged func(name string) bool

	w        io.Writer
	target   int // -1 while unknown
	verbose  int
	terminal bool
	now      func() time.Time

	start, last, afterFirst time.Time
	seen                    int // steps at the last update
	drawn                   int // visible characters of the line on the screen
	names                   []string
	values                  map[string]weighted
}

// weighted is a sum and what it is to be divided by.
type weighted struct{ sum, count float64 }

// NewProgbar returns a bar for target steps (-1 for unknown) with the given verbosity: 0 prints nothing, 1 draws the bar, 2 prints
// a line at the end.
func NewProgbar(w io.Writer, target, verbose int) *Progbar {
	f, ok := w.(*os.File)
	return newProgbar(w, target, verbose, ok && term.IsTerminal(int(f.Fd())), time.Now)
}

func newProgbar(w io.Writer, target, verbose int, terminal bool, now func() time.Time) *Progbar {
	return &Progbar{
		Width: 20, Interval: 50 * time.Millisecond, Unit: "step",
		w: w, target: target, verbose: verbose, terminal: terminal, now: now, start: now(), values: map[string]weighted{},
	}
}

// Update shows that current steps are done. finalize ends the line; it replaces means by the values given.
//
// Logs that are worked out when they are looked at are looked at only if they are shown or averaged.
func (p *Progbar) Update(current int, logs *Logs, finalize bool) {
	steps := max(current-p.seen, 1)
	p.seen = current
	atOnce := p.Averaged != nil || logs.ready()
	if atOnce {
		p.keep(steps, logs, finalize)
	}
	now := p.now()
	perStep := p.stepTime(current, now)
	if p.verbose == 1 && !finalize && now.Sub(p.last) < p.Interval {
		return
	}
	if !atOnce && (p.verbose == 1 || finalize) {
		p.keep(steps, logs, finalize)
	}
	switch {
	case p.verbose == 1:
		p.draw(current, finalize, now, perStep)
	case p.verbose == 2 && finalize && p.target > 0:
		fmt.Fprintf(p.w, "%s - %ss -%s%s\n", p.count(current), fixed(now.Sub(p.start).Seconds(), 0), p.formatStepTime(perStep), p.metrics())
	}
	p.last = now
}

// Add is Update for n more steps; the last of them ends the line.
func (p *Progbar) Add(n int, logs *Logs) {
	current := p.seen + n
	p.Update(current, logs, p.target >= 0 && current >= p.target)
}

// keep notes values. Numbers of a vector are averaged.
func (p *Progbar) keep(steps int, logs *Logs, finalize bool) {
	for _, name := range logs.Names() {
		before, known := p.values[name]
		if !known {
			p.names = append(p.names, name)
		}
		v := 0.0
		numbers := logs.Vector(name)
		for _, x := range numbers {
			v += x
		}
		v /= float64(max(len(numbers), 1))
		if p.Averaged == nil || finalize || !p.Averaged(name) {
			p.values[name] = weighted{v, 1}
		} else {
			p.values[name] = weighted{before.sum + v*float64(steps), before.count + float64(steps)}
		}
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
	digits := int(math.Log10(float64(p.target))) + 1
	return fmt.Sprintf("%*d/%d", digits, current, p.target)
}

func bold(s string) string { return "\x1b[1m" + s + "\x1b[0m" }

func (p *Progbar) draw(current int, finalize bool, now time.Time, perStep float64) {
	var b strings.Builder
	if p.terminal {
		b.WriteString(strings.Repeat("\b", p.drawn) + "\r")
	} else {
		b.WriteString("\n")
	}
	visible := 0
	if p.target > 0 {
		count := p.count(current)
		done := int(float64(p.Width) * (float64(current) / float64(p.target)))
		b.WriteString(bold(count) + " ")
		if done > 0 {
			b.WriteString("\x1b[32m" + strings.Repeat("━", done) + "\x1b[0m")
		}
		b.WriteString("\x1b[37m" + strings.Repeat("━", max(p.Width-done, 0)) + "\x1b[0m")
		visible = len(count) + 1 + max(done, p.Width)
	} else {
		unknown := fmt.Sprintf("%7d/Unknown", current)
		b.WriteString(unknown)
		visible = len(unknown)
	}
	elapsed := fixed(now.Sub(p.start).Seconds(), 0) + "s"
	if p.target > 0 && !finalize {
		elapsed = formatETA(perStep * float64(p.target-current))
	}
	rest := p.formatStepTime(perStep) + p.metrics()
	b.WriteString(" " + bold(elapsed) + rest)
	visible += 1 + len(elapsed) + utf8.RuneCountInString(rest)
	b.WriteString(strings.Repeat(" ", max(p.drawn-visible, 0)))
	if finalize {
		b.WriteString("\n")
	}
	fmt.Fprint(p.w, b.String())
	p.drawn = visible
}

// metrics lists the values. As in Keras the bar writes a number with an exponent if its magnitude is small, and the line of
// verbosity 2 also if it is negative.
func (p *Progbar) metrics() string {
	var b strings.Builder
	for _, name := range p.names {
		v := p.values[name]
		mean := v.sum / max(v.count, 1)
		if mean > 1e-3 || p.verbose == 1 && mean < -1e-3 {
			fmt.Fprintf(&b, " - %s: %s", name, fixed(mean, 4))
		} else {
			fmt.Fprintf(&b, " - %s: %s", name, scientific(mean, 4))
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

func (p *Progbar) formatStepTime(s float64) string {
	switch {
	case s >= 1 || s == 0:
		return fmt.Sprintf(" %ss/%s", fixed(s, 0), p.Unit)
	case s >= 1e-3:
		return fmt.Sprintf(" %sms/%s", fixed(s*1e3, 0), p.Unit)
	}
	return fmt.Sprintf(" %sus/%s", fixed(s*1e6, 0), p.Unit)
}
