package partitioners_test

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/distribute/partitioners"
	"github.com/gokeras/gokeras/internal/tfvectors"
	"github.com/gokeras/gokeras/kernels/ir"
)

var call = regexp.MustCompile(`^(?:(\w+)\.)?(Fixed|MinSize|MaxSize)\((.*)\)$`)

// parse makes a partitioner from what the recorded cases call it, "float64.MinSize(64, max_shards=9)", and the bytes of
// an element.
func parse(t *testing.T, text string) (partitioners.Partitioner, int) {
	t.Helper()
	m := call.FindStringSubmatch(text)
	require.NotNil(t, m, text)
	bytes, known := map[string]int{"": 4, "float16": 2, "float64": 8, "string": 16}[m[1]]
	require.True(t, known, text)
	first, most, axis := 0, 0, 0
	for i, word := range strings.Split(m[3], ", ") {
		key, value, named := strings.Cut(word, "=")
		number := func(text string) int {
			if text == "" || text == "None" {
				return 0
			}
			n, err := strconv.Atoi(text)
			require.NoError(t, err, text)
			if n == 0 && m[2] == "MinSize" {
				return -1 // 0 stands for the default here, where TensorFlow has None and refuses 0
			}
			return n
		}
		switch {
		case !named && i == 0:
			first = number(key)
		case key == "max_shards":
			most = number(value)
		case key == "axis":
			axis = -1
		case key == "bytes_per_string":
			first = -1 // there are no variables of strings here
		default:
			t.Fatalf("%s: argument %s", text, word)
		}
	}
	switch m[2] {
	case "Fixed":
		return partitioners.FixedShards{Shards: first, Axis: axis}, bytes
	case "MinSize":
		return partitioners.MinSize{MinShardBytes: first, MaxShards: most, Axis: axis}, bytes
	}
	return partitioners.MaxSize{MaxShardBytes: first, MaxShards: most, Axis: axis}, bytes
}

// TestVectors compares with what TensorFlow's partitioners and its ParameterServerStrategy over three servers gave.
func TestVectors(t *testing.T) {
	for _, c := range tfvectors.Load(t, "testdata/partitioners.json.gz") {
		t.Run(c.ID, func(t *testing.T) {
			switch {
			case strings.HasPrefix(c.ID, "partitioner."):
				compareResults(t, &c)
			case strings.HasPrefix(c.ID, "partition.rows."):
				compareRows(t, &c)
			case c.ID == "partition.bad_results":
				compareBadResults(t, &c)
			case c.ID == "partition.initializer":
				compareInitializer(t, &c)
			default:
				t.Fatal("nothing runs this case")
			}
		})
	}
}

func ints(t *testing.T, v any) []int {
	t.Helper()
	out := []int{}
	for _, x := range tfvectors.Values(t, v) {
		out = append(out, int(x))
	}
	return out
}

func shapeOf(t *testing.T, c *tfvectors.Case) ir.Shape {
	if v, ok := c.Inputs["shape"]; ok {
		if len(v.([]any)) == 0 {
			return ir.Shape{}
		}
		return ints(t, v)
	}
	return ir.Shape{4} // the case about arguments
}

func compareResults(t *testing.T, c *tfvectors.Case) {
	for text, want := range c.Map(t) {
		p, bytes := parse(t, text)
		got, err := p.Partition(shapeOf(t, c), bytes)
		switch want := want.(type) {
		case []any:
			require.NoError(t, err, text)
			if c.ID == "partitioner.arguments" { // of shape [4, 1]
				require.Equal(t, ints(t, want)[0], got[0], text)
				continue
			}
			require.Equal(t, ints(t, want), got, text)
		case string: // it was made
			require.NoError(t, err, text)
		default:
			require.True(t, tfvectors.IsError(want), text)
			require.ErrorContains(t, err, "partitioners: ", text)
		}
	}
}

// layout is what is recorded of a variable: rows, names, servers and first element of each shard.
func compareLayout(t *testing.T, want any, shape ir.Shape, shards []partitioners.Shard, first int) int {
	t.Helper()
	var placement partitioners.RoundRobin
	for range first {
		placement.Place(1, 3)
	}
	width := shape.Size() / shape[0]
	var sizes, servers []int
	var names []string
	var elements []float64
	for i, s := range shards {
		sizes, names = append(sizes, s.Rows), append(names, s.Name+":0")
		servers = append(servers, placement.Place(4*s.Rows*width, 3))
		elements = append(elements, float64(s.First*width))
		at, inside := partitioners.Of(shards, s.First)
		require.Equal(t, []int{i, 0}, []int{at, inside}, "the first row of a shard")
		at, inside = partitioners.Of(shards, s.First+s.Rows-1)
		require.Equal(t, []int{i, s.Rows - 1}, []int{at, inside}, "its last row")
	}
	require.Equal(t, ints(t, tfvectors.Get(want, "sizes")), sizes)
	require.Equal(t, tfvectors.Values(t, tfvectors.Get(want, "first_elements")), elements)
	for i, name := range names {
		require.Equal(t, tfvectors.Get(want, "names", i), name)
		require.Equal(t, tfvectors.Get(want, "devices", i), fmt.Sprintf("ps/replica:0/task:%d/device:CPU:0", servers[i]))
	}
	return placement.Place(1, 3)
}

// turn reads whose turn it was in the recorded run, which depends on the variables before.
func turn(t *testing.T, want any) int {
	t.Helper()
	var n int
	_, err := fmt.Sscanf(tfvectors.Get(want, "devices", 0).(string), "ps/replica:0/task:%d/", &n)
	require.NoError(t, err)
	return n
}

func fixed(parts []int) partitioners.Partitioner {
	return partitioners.Func(func(ir.Shape, int) ([]int, error) { return parts, nil })
}

func compareRows(t *testing.T, c *tfvectors.Case) {
	shape := shapeOf(t, c)
	shards, err := partitioners.Cut(fixed(ints(t, c.Inputs["parts"])), "v", shape, 4)
	require.NoError(t, err)
	compareLayout(t, c.Expected, shape, shards, turn(t, c.Expected))
}

func compareBadResults(t *testing.T, c *tfvectors.Case) {
	shape := ir.Shape{4, 3, 2}
	for text, want := range c.Map(t) {
		if text == "[2.0, 1, 1]" {
			continue // Go's types have no such list
		}
		var parts []int
		for _, word := range strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune("[](), ", r) }) {
			if n, err := strconv.Atoi(word); err == nil {
				parts = append(parts, n)
			}
		}
		shards, err := partitioners.Cut(fixed(parts), "v", shape, 4)
		if tfvectors.IsError(want) {
			require.ErrorContains(t, err, "the partitioner for variable v of shape [4 3 2] returned", text)
			continue
		}
		require.NoError(t, err, text)
		if tfvectors.Get(want, "type") == "ShardedVariable" {
			compareLayout(t, want, shape, shards, turn(t, want))
			continue
		}
		require.Equal(t, []partitioners.Shard{{Name: "v", Rows: 4}}, shards, text)
	}
}

// compareInitializer: shards follow each other, so what an initializer is asked for is a shape and an offset.
func compareInitializer(t *testing.T, c *tfvectors.Case) {
	shards, err := partitioners.Cut(partitioners.FixedShards{Shards: 2}, "v", ir.Shape{5, 2}, 4)
	require.NoError(t, err)
	calls := tfvectors.Get(c.Expected, "partial_with_partition_arguments", "calls").([]any)
	require.Len(t, shards, len(calls))
	for i, s := range shards {
		require.Equal(t, ints(t, tfvectors.Get(calls, i, 0)), []int{s.Rows, 2})
		require.Equal(t, ints(t, tfvectors.Get(calls, i, 1)), []int{s.First, 0})
	}
	scalar, err := partitioners.Cut(partitioners.FixedShards{Shards: 2}, "v", ir.Shape{}, 4)
	require.NoError(t, err)
	require.Equal(t, []partitioners.Shard{{Name: "v", Rows: 1}}, scalar)
}
