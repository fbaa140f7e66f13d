package cluster

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// MaxTasks bounds the index of a task in a job, so that no text from outside can ask for an unreasonable amount of
// memory.
const MaxTasks = 1 << 16

// Spec is a set of jobs, each a set of tasks with their addresses ("host:port"): TensorFlow's ClusterSpec. It is
// immutable; nil is the empty cluster. The task indices of a job usually are 0..n-1 but may have holes.
type Spec struct {
	jobs map[string]map[int]string
}

// NewSpec returns the cluster with the given addresses of each job; the place in the list is the task's index.
func NewSpec(jobs map[string][]string) (*Spec, error) {
	sparse := make(map[string]map[int]string, len(jobs))
	for job, tasks := range jobs {
		sparse[job] = make(map[int]string, len(tasks))
		for i, address := range tasks {
			sparse[job][i] = address
		}
	}
	return NewSparseSpec(sparse)
}

// NewSparseSpec returns the cluster with the given address of each task index of each job. An index below 0 or not
// below [MaxTasks] is an error.
func NewSparseSpec(jobs map[string]map[int]string) (*Spec, error) {
	s := &Spec{jobs: make(map[string]map[int]string, len(jobs))}
	for job, tasks := range jobs {
		for index := range tasks {
			if index < 0 || index >= MaxTasks {
				return nil, fmt.Errorf("cluster: job %q has a task with index %d; indices go from 0 to %d", job, index, MaxTasks-1)
			}
		}
		s.jobs[job] = maps.Clone(tasks)
		if s.jobs[job] == nil {
			s.jobs[job] = map[int]string{}
		}
	}
	return s, nil
}

// Empty reports whether the cluster has no job: the program then runs alone.
func (s *Spec) Empty() bool { return s == nil || len(s.jobs) == 0 }

// Jobs lists the names of the jobs, sorted.
func (s *Spec) Jobs() []string {
	if s == nil {
		return nil
	}
	return slices.Sorted(maps.Keys(s.jobs))
}

// Has reports whether the cluster has the job.
func (s *Spec) Has(job string) bool {
	if s == nil {
		return false
	}
	_, ok := s.jobs[job]
	return ok
}

func (s *Spec) tasks(job string) (map[int]string, error) {
	if !s.Has(job) {
		return nil, fmt.Errorf("cluster: no such job in cluster: %s; it has %q", quoteJob(job), s.Jobs())
	}
	return s.jobs[job], nil
}

func quoteJob(job string) string {
	if job == "" {
		return "none was given"
	}
	return strconv.Quote(job)
}

// NumTasks returns the number of tasks of a job; an unknown job is an error.
func (s *Spec) NumTasks(job string) (int, error) {
	tasks, err := s.tasks(job)
	return len(tasks), err
}

// count is NumTasks with 0 for an unknown job.
func (s *Spec) count(job string) int {
	if s == nil {
		return 0
	}
	return len(s.jobs[job])
}

// TaskIndices lists the indices of a job's tasks in increasing order; an unknown job is an error.
func (s *Spec) TaskIndices(job string) ([]int, error) {
	tasks, err := s.tasks(job)
	if err != nil {
		return nil, err
	}
	return slices.Sorted(maps.Keys(tasks)), nil
}

// Address returns the address of a task; an unknown job or index is an error.
func (s *Spec) Address(t Task) (string, error) {
	tasks, err := s.tasks(t.Type)
	if err != nil {
		return "", err
	}
	address, ok := tasks[t.Index]
	if !ok {
		index := strconv.Itoa(t.Index)
		if t.Index == NoIndex {
			index = "that was not given"
		}
		return "", fmt.Errorf("cluster: no task with index %s in job %q, which has %d", index, t.Type, len(tasks))
	}
	return address, nil
}

// JobTasks lists the addresses of a job by task index, with "" for an index that has no task; an unknown job is an
// error.
func (s *Spec) JobTasks(job string) ([]string, error) {
	tasks, err := s.tasks(job)
	if err != nil {
		return nil, err
	}
	size := 0
	for index := range tasks {
		size = max(size, index+1)
	}
	list := make([]string, size)
	for index, address := range tasks {
		list[index] = address
	}
	return list, nil
}

// dense reports whether the indices of a job are 0..n-1.
func dense(tasks map[int]string) bool {
	for i := range len(tasks) {
		if _, ok := tasks[i]; !ok {
			return false
		}
	}
	return true
}

// Equal reports whether both clusters have the same jobs, indices and addresses.
func (s *Spec) Equal(other *Spec) bool {
	if s.Empty() || other.Empty() {
		return s.Empty() && other.Empty()
	}
	return maps.EqualFunc(s.jobs, other.jobs, maps.Equal[map[int]string])
}

// String is the JSON of the cluster.
func (s *Spec) String() string {
	text, err := s.MarshalJSON()
	if err != nil { // addresses are strings, which always encode
		return err.Error()
	}
	return string(text)
}

// MarshalJSON writes the form that TF_CONFIG has under "cluster": a list of addresses for each job, or a map from index
// to address if the indices have holes, and an empty map for a job without tasks, as TensorFlow does.
func (s *Spec) MarshalJSON() ([]byte, error) {
	out := make(map[string]any)
	for _, job := range s.Jobs() {
		if tasks := s.jobs[job]; len(tasks) > 0 && dense(tasks) {
			list, err := s.JobTasks(job)
			if err != nil {
				return nil, err
			}
			out[job] = list
		} else {
			out[job] = tasks
		}
	}
	return json.Marshal(out)
}

// UnmarshalJSON reads what MarshalJSON writes, with the checks of [ParseSpec].
func (s *Spec) UnmarshalJSON(text []byte) error {
	value, err := decode(text)
	if err != nil {
		return err
	}
	parsed, err := ParseSpec(value)
	if err != nil {
		return err
	}
	*s = *parsed
	return nil
}

// ParseSpec reads a cluster from decoded JSON: an object of jobs, each a list of addresses or an object from index to
// address.
func ParseSpec(value any) (*Spec, error) {
	object, ok := value.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("cluster: the cluster must be an object that maps job names to lists of addresses; received %s", kindOf(value))
	}
	jobs := make(map[string]map[int]string, len(object))
	for job, tasks := range object {
		jobs[job] = map[int]string{}
		put := func(index int, value any) error {
			address, ok := value.(string)
			if !ok {
				return fmt.Errorf("cluster: the address of task %s must be text such as \"host:port\"; received %s", Task{job, index}, kindOf(value))
			}
			jobs[job][index] = address
			return nil
		}
		switch tasks := tasks.(type) {
		case []any:
			for i, value := range tasks {
				if err := put(i, value); err != nil {
					return nil, err
				}
			}
		case map[string]any:
			for text, value := range tasks {
				index, err := strconv.Atoi(strings.TrimSpace(text))
				if err != nil {
					return nil, fmt.Errorf("cluster: the task index %q of job %q is not an integer", text, job)
				}
				if err := put(index, value); err != nil {
					return nil, err
				}
			}
		default:
			return nil, fmt.Errorf("cluster: the tasks of job %q must be a list of addresses or an object from index to address; received %s", job, kindOf(tasks))
		}
	}
	return NewSparseSpec(jobs)
}

// kindOf names the kind of a decoded JSON value for an error message.
func kindOf(value any) string {
	switch v := value.(type) {
	case nil:
		return "null"
	case bool:
		return strconv.FormatBool(v)
	case string:
		return "the text " + strconv.Quote(shorten(v))
	case json.Number:
		return "the number " + shorten(v.String())
	case []any:
		return fmt.Sprintf("a list of %d", len(v))
	case map[string]any:
		return fmt.Sprintf("an object of %d", len(v))
	}
	return fmt.Sprintf("a %T", value)
}

func shorten(text string) string {
	if len(text) > 80 {
		return text[:80] + "..."
	}
	return text
}

// decode reads one JSON value; errors give line and column.
func decode(text []byte) (any, error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var value any
	err := decoder.Decode(&value)
	if err == nil {
		rest := bytes.TrimSpace(text[decoder.InputOffset():])
		if len(rest) == 0 {
			return value, nil
		}
		err = fmt.Errorf("more text after the value: %q", shorten(string(rest)))
		return nil, position(text, decoder.InputOffset()+1, err)
	}
	offset := int64(len(text))
	if syntax, ok := err.(*json.SyntaxError); ok {
		offset = syntax.Offset
	}
	if len(bytes.TrimSpace(text)) == 0 {
		err = fmt.Errorf("the text is empty")
	}
	return nil, position(text, offset, err)
}

func position(text []byte, offset int64, err error) error {
	before := text[:min(max(offset-1, 0), int64(len(text)))]
	line := 1 + bytes.Count(before, []byte("\n"))
	column := 1 + len(before) - (bytes.LastIndexByte(before, '\n') + 1)
	return fmt.Errorf("not JSON: line %d column %d: %w", line, column, err)
}
