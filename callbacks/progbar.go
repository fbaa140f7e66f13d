package callbacks

import (
	"fmt"
	"io"
	"math"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/term"
)

// Progbar prints the progress of a loop as Keras does: on a terminal one line that is redrawn, in Keras's colours,
//
//	10/32 ━━━━━━━━━━━━━━━━━━━━ 1s 52ms/step - accuracy: 0.7734 - loss: 0.8512
//
// Elsewhere (a file, a pipe, a log) each update is a separate line without colours, and there are fewer of them: one
// every ten seconds and one at the end. Keras writes its colours there too, and twenty lines per second.
type Progbar struct {
	// Width is the length of the bar.
	Width int
	// Interval is the smallest time between two updates that are drawn: 50 ms on a terminal, 10 s elsewhere.
	Interval time.Duration
	// Unit names what is counted: "step".
	Unit string
	// Averaged says which values are shown as their mean over the steps so far; nil for none. A value given at step n
	// counts for all steps since the previous update.
	Averaged func(name string) bool

	w        io.Writer
	target   int // -1 while unknown
	verbose  int
	terminal bool
	columns  func() int // width of the terminal, 0 where it is not known; nil too
	now      func() time.Time

	start, last, afterFirst time.Time
	seen                    int  // steps at the last update
	drawn                   int  // visible characters of the line on the screen
	open                    bool // the line is not ended
	names                   []string
	values                  map[string]weighted
}

// weighted is a sum and its divisor.
type weighted struct{ sum, count float64 }

// NewProgbar returns a bar for target steps (-1 for unknown) with the given verbosity: 0 prints nothing, 1 draws the
// bar, 2 prints a line at the end.
func NewProgbar(w io.Writer, target, verbose int) *Progbar {
	p := newBar(w, target, verbose, onTerminal(w), time.Now)
	if p.terminal {
		p.columns = func() int {
			columns, _, err := term.GetSize(int(w.(interface{ Fd() uintptr }).Fd()))
			if err != nil {
				return 0
			}
			return columns
		}
	}
	return p
}

// onTerminal reports whether a writer is a terminal: a file, or a writer around one that has its Fd method.
func onTerminal(w io.Writer) bool {
	f, ok := w.(interface{ Fd() uintptr })
	return ok && term.IsTerminal(int(f.Fd()))
}

// newBar is newProgbar with the update interval that fits its output.
func newBar(w io.Writer, target, verbose int, terminal bool, now func() time.Time) *Progbar {
	p := newProgbar(w, target, verbose, terminal, now)
	if !terminal {
		p.Interval, p.last = 10*time.Second, p.start
	}
	return p
}

func newProgbar(w io.Writer, target, verbose int, terminal bool, now func() time.Time) *Progbar {
	return &Progbar{
		Width: 20, Interval: 50 * time.Millisecond, Unit: "step",
		w: w, target: target, verbose: verbose, terminal: terminal, now: now, start: now(), values: map[string]weighted{},
	}
}

// Update shows that current steps are done. finalize ends the line, and shows the values given instead of means.
//
// Lazy logs are computed only if they are shown or averaged.
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

// Add is Update for n more steps. The last step ends the line.
func (p *Progbar) Add(n int, logs *Logs) {
	current := p.seen + n
	p.Update(current, logs, p.target >= 0 && current >= p.target)
}

// keep records values. The numbers of a vector are averaged.
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

// stepTime estimates the seconds per step. The first step, which compiles, does not count once there are more.
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

// interrupt ends the line of a bar that will not be completed, so that the next output starts on a new line.
func (p *Progbar) interrupt() {
	if p.open {
		fmt.Fprintln(p.w)
		p.open = false
	}
}

// styled returns text in a style of the terminal.
func (p *Progbar) styled(style, text string) string {
	if !p.terminal {
		return text
	}
	return "\x1b[" + style + "m" + text + "\x1b[0m"
}

const (
	bold  = "1"
	green = "32"
	white = "37"
)

func (p *Progbar) draw(current int, finalize bool, now time.Time, perStep float64) {
	var b strings.Builder
	if p.terminal {
		b.WriteString(strings.Repeat("\b", p.drawn) + "\r")
	}
	visible := 0
	if p.target > 0 {
		count := p.count(current)
		done := int(float64(p.Width) * (float64(current) / float64(p.target)))
		b.WriteString(p.styled(bold, count) + " ")
		if done > 0 {
			b.WriteString(p.styled(green, strings.Repeat("━", done)))
		}
		b.WriteString(p.styled(white, strings.Repeat(p.rest(), max(p.Width-done, 0))))
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
	visible += 1 + len(elapsed)
	if !finalize {
		rest = p.cut(rest, visible)
	}
	b.WriteString(" " + p.styled(bold, elapsed) + rest)
	visible += utf8.RuneCountInString(rest)
	if p.terminal {
		b.WriteString(strings.Repeat(" ", max(p.drawn-visible, 0)))
	}
	p.open = p.terminal && !finalize
	if !p.open {
		b.WriteString("\n")
	}
	fmt.Fprint(p.w, b.String())
	p.drawn = visible
}

// cut shortens the end of a line that will be redrawn, of which the given number of visible characters is already
// there. A line that wraps in the terminal could not be redrawn.
func (p *Progbar) cut(rest string, visible int) string {
	if p.columns == nil {
		return rest
	}
	columns, text := p.columns(), []rune(rest)
	room := columns - 1 - visible
	if columns <= 0 || len(text) <= room {
		return rest
	}
	if room < 1 {
		return ""
	}
	return string(text[:room-1]) + "…"
}

// rest is the character for the part of the bar that is not done. Without colours it has to look different.
func (p *Progbar) rest() string {
	if p.terminal {
		return "━"
	}
	return "─"
}

// metrics lists the values. As in Keras, the bar writes a number with an exponent if its magnitude is small; the line
// of verbosity 2 also does so if it is negative.
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
