// Package supervisor lets the workers of a job report their status to the program that started them, as lines of text
// in an inherited pipe. A worker started in another way reports to nobody.
package supervisor

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"
)

// Variable holds the number of the descriptor that a worker writes to.
const Variable = "GOKERAS_SUPERVISOR"

// FinishedVariable tells a worker that is started again how many others have finished: they do not come back.
const FinishedVariable = "GOKERAS_FINISHED"

// OthersFinished reports whether it is set.
func OthersFinished() bool { return os.Getenv(FinishedVariable) != "" }

// OverVariable names a file that exists once the coordinator of a job with parameter servers has ended it, well or with
// an error: a worker that is started again after that finds nobody to ask, and neither does a coordinator.
const OverVariable = "GOKERAS_OVER"

// Over reports whether the job has ended.
func Over() bool {
	path := os.Getenv(OverVariable)
	if path == "" {
		return false
	}
	_, err := os.Stat(path)
	return err == nil
}

// End says so, to those who look at that file. Without one it does nothing.
func End() error {
	path := os.Getenv(OverVariable)
	if path == "" {
		return nil
	}
	return os.WriteFile(path, nil, 0o600)
}

// What a worker says.
const (
	joining = "joining" // it looks for the others
	missing = "missing" // nothing comes from these workers, for the deadline
	refused = "refused" // its command line is wrong, and will be so the next time
)

// Event is one thing that a worker said.
type Event struct {
	Joining bool
	Refused bool
	Missing []int // tasks
}

// maxTasks bounds what is read of one line.
const maxTasks = 1024

var own = sync.OnceValue(func() *reporter {
	number, err := strconv.Atoi(os.Getenv(Variable))
	if err != nil {
		return nil
	}
	return newReporter(number)
})

// Joining says that this worker has come to look for the others: from now on it can be missed.
func Joining() { own().say(joining) }

// Missing says that nothing comes from some workers.
func Missing(tasks []int) {
	words := make([]string, len(tasks))
	for i, task := range tasks {
		words[i] = strconv.Itoa(task)
	}
	own().say(missing + " " + strings.Join(words, " "))
}

// Refused says that this worker cannot begin because its command line is wrong: there is no use in starting it again.
func Refused() { own().say(refused) }

// Listen passes on what a worker says until it has ended. What is not of this package is passed over.
func Listen(r io.Reader, told func(Event)) {
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		if e, err := parse(lines.Text()); err == nil {
			told(e)
		}
	}
}

func parse(line string) (Event, error) {
	words := strings.Fields(line)
	switch {
	case len(words) == 1 && words[0] == joining:
		return Event{Joining: true}, nil
	case len(words) == 1 && words[0] == refused:
		return Event{Refused: true}, nil
	case len(words) > 1 && len(words) <= 1+maxTasks && words[0] == missing:
		var e Event
		for _, word := range words[1:] {
			task, err := strconv.Atoi(word)
			if err != nil || task < 0 || task >= maxTasks {
				return Event{}, fmt.Errorf("supervisor: %q is no task", word)
			}
			e.Missing = append(e.Missing, task)
		}
		return e, nil
	}
	return Event{}, fmt.Errorf("supervisor: %q is not what a worker says", line)
}
