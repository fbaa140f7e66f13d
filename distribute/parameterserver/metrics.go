package parameterserver

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/gokeras/gokeras/distribute/monitor"
	"github.com/gokeras/gokeras/distribute/parameters"
	"github.com/gokeras/gokeras/distribute/tables"
)

// Stats counts what a server has done since it started.
type Stats struct {
	Tables                    int
	Rows                      int // of all tables
	Bytes                     int // of values and optimizer state
	RowsRead, RowsWritten     uint64
	BytesRead, BytesWritten   uint64
	Commands, Repeated        uint64 // of which were executed before
	Queue                     int    // requests being answered
	Term                      uint64 // of the coordinator
	Staleness                 parameters.Staleness
	SnapshotNumber, LogLength int64
	Dynamic                   tables.Stats // of all dynamic tables together
}

// Stats returns what the server has done.
func (s *Server) Stats() Stats {
	s.mu.RLock()
	defer s.mu.RUnlock()
	out := Stats{Tables: len(s.state.Tables()), Bytes: s.state.Bytes(), RowsRead: s.rowsRead.Load(), RowsWritten: s.rowsWritten.Load(), BytesRead: s.bytesRead.Load(),
		BytesWritten: s.bytesWritten.Load(), Commands: s.commands.Load(), Repeated: s.repeated.Load(), Queue: int(s.queue.Load()), Term: s.state.Term(), Staleness: s.state.Staleness}
	for _, t := range s.state.Tables() {
		out.Rows += t.Len()
		if t.Dynamic {
			one := t.RowStats()
			out.Dynamic.Rows += one.Rows
			out.Dynamic.Hits += one.Hits
			out.Dynamic.Misses += one.Misses
			out.Dynamic.Evictions += one.Evictions
			out.Dynamic.Memory += one.Memory
			out.Dynamic.Disk += one.Disk
		}
	}
	if s.store != nil {
		out.SnapshotNumber, out.LogLength = int64(s.store.number), s.store.size
	}
	return out
}

// AppendText appends the metrics of the server in Prometheus's text format.
func (s *Server) AppendText(b []byte) []byte {
	st := s.Stats()
	task := s.settings.task.String()
	for _, m := range []struct {
		name, kind, help string
		value            any
	}{
		{"tables", "gauge", "Variables and shards of variables on the server.", st.Tables},
		{"table_rows", "gauge", "Rows of all tables.", st.Rows},
		{"table_bytes", "gauge", "Bytes of values and optimizer state.", st.Bytes},
		{"rows_read_total", "counter", "Rows sent to workers.", st.RowsRead},
		{"rows_written_total", "counter", "Rows changed.", st.RowsWritten},
		{"read_bytes_total", "counter", "Bytes of answers with values.", st.BytesRead},
		{"written_bytes_total", "counter", "Bytes of commands.", st.BytesWritten},
		{"commands_total", "counter", "Commands executed.", st.Commands},
		{"repeated_commands_total", "counter", "Commands that had been executed before.", st.Repeated},
		{"queue", "gauge", "Requests being answered.", st.Queue},
		{"gradients_total", "counter", "Gradients applied.", st.Staleness.Gradients},
		{"staleness_total", "counter", "Sum over gradients of how many others came since their values were read.", st.Staleness.Sum},
		{"staleness_max", "gauge", "The largest such number.", st.Staleness.Max},
		{"dynamic_rows", "gauge", "Rows of the tables that grow.", st.Dynamic.Rows},
		{"dynamic_hits_total", "counter", "Keys read that had a row.", st.Dynamic.Hits},
		{"dynamic_misses_total", "counter", "Keys read that had none: their first values were sent.", st.Dynamic.Misses},
		{"dynamic_evictions_total", "counter", "Rows that made room for others, or grew too old.", st.Dynamic.Evictions},
		{"dynamic_memory_bytes", "gauge", "Bytes in memory of the tables that grow.", st.Dynamic.Memory},
		{"dynamic_disk_bytes", "gauge", "Bytes on disk of the tables that grow.", st.Dynamic.Disk},
		{"log_bytes", "gauge", "Length of the log of updates.", st.LogLength},
	} {
		name := "gokeras_ps_" + m.name
		b = fmt.Appendf(b, "# HELP %s %s\n# TYPE %s %s\n%s{task=%q} %v\n", name, m.help, name, m.kind, name, strings.ToValidUTF8(task, "?"), m.value)
	}
	return b
}

// ServeHTTP answers GET and HEAD with the metrics.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "only GET", http.StatusMethodNotAllowed)
		return
	}
	w.Header().Set("Content-Type", monitor.ContentType)
	_, _ = w.Write(s.AppendText(nil)) // whoever asked may be gone
}
