package parameterserver_test

import (
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/distribute/parameters"
	"github.com/gokeras/gokeras/kernels/ir"
)

func TestMetrics(t *testing.T) {
	c := newCluster(t, 1, 1, nil)
	j := c.coordinate()
	v, _, err := j.Create(t.Context(), parameters.Spec{Name: "v", Shape: ir.Shape{10, 2}, Rule: parameters.Rule{Kind: parameters.Adagrad, Initial: 0.1}})
	require.NoError(t, err)
	r := &parameters.Read{Variable: v, IDs: []int64{1, 4, 5}}
	require.NoError(t, j.Pull(t.Context(), r))
	for range 3 { // the second is of values that are one update old, the third of values that are two
		require.NoError(t, j.Change(t.Context(), parameters.Change{Variable: v, Op: parameters.Gradient, Rate: 1, IDs: r.IDs, Values: make([]float32, 6), Seen: r.Seen}))
	}
	s := c.servers[0].Stats()
	require.Equal(t, parameters.Staleness{Gradients: 3, Sum: 3, Max: 2}, s.Staleness)
	require.EqualValues(t, []uint64{3, 9}, []uint64{s.RowsRead, s.RowsWritten})
	require.Equal(t, []int{1, 10, 160}, []int{s.Tables, s.Rows, s.Bytes})
	answer := httptest.NewRecorder()
	c.servers[0].ServeHTTP(answer, httptest.NewRequest("GET", "/metrics", nil))
	for _, line := range []string{`gokeras_ps_staleness_max{task="ps:0"} 2`, "# TYPE gokeras_ps_rows_read_total counter", `gokeras_ps_gradients_total{task="ps:0"} 3`} {
		require.True(t, strings.Contains(answer.Body.String(), line+"\n"), "%s in\n%s", line, answer.Body)
	}
	answer = httptest.NewRecorder()
	c.servers[0].ServeHTTP(answer, httptest.NewRequest("POST", "/metrics", nil))
	require.Equal(t, 405, answer.Code)
}
