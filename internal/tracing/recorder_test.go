package tracing

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestRecorder(t *testing.T) {
	ctx, slot := Context(t.Context())
	again, same := Context(ctx)
	require.Equal(t, ctx, again)
	require.Same(t, slot, same)
	r, err := slot.Start(4)
	require.NoError(t, err)
	defer r.Stop()
	require.Same(t, r, Active(ctx))
	require.Nil(t, Active(t.Context()), "who runs under another context does not report to it")
	_, err = slot.Start(4)
	require.ErrorIs(t, err, ErrActive)
	_, another := Context(t.Context())
	beside, err := another.Start(4)
	require.NoError(t, err, "two runs record at once")
	defer beside.Stop()
	begin := time.Now()
	pair := r.Pair()
	r.Begin(Replica(1), "collective", "all_reduce", "adam", 12, pair)
	r.Span(Replica(1), "op", "dot", "dense", 0, begin)
	r.End(Replica(1), "collective", "all_reduce", "adam", pair)
	r.Span(Loop, "callback", `a "quoted" name`, "", 0, begin)
	r.Span(Loop, "callback", "one too many", "", 0, begin)
	r.Stop()
	r.Stop()
	require.Nil(t, Active(ctx))
	require.Same(t, beside, another.Active())

	var b bytes.Buffer
	require.NoError(t, r.Write(&b, 3))
	var file struct {
		OtherData   map[string]int
		TraceEvents []struct {
			Name, Cat, Ph, ID string
			Ts, Dur           float64
			Pid, Tid          int
			Args              map[string]any
		}
	}
	require.NoError(t, json.Unmarshal(b.Bytes(), &file), b.String())
	require.Equal(t, 1, file.OtherData["dropped_events"])
	require.Len(t, file.TraceEvents, 4+4, "two lanes have a name and a place")
	e := file.TraceEvents[4:]
	require.Equal(t, "b", e[0].Ph)
	require.Equal(t, map[string]any{"layer": "adam", "bytes": 12.0}, e[0].Args)
	require.Equal(t, "X", e[1].Ph)
	require.Equal(t, "e", e[2].Ph)
	require.Equal(t, e[0].ID, e[2].ID)
	require.Equal(t, `a "quoted" name`, e[3].Name)
	require.Positive(t, e[1].Dur)
	for _, v := range e {
		require.Equal(t, 3, v.Pid)
		require.GreaterOrEqual(t, v.Ts, 0.0)
	}
}

// Code without a recorder reports to nobody.
func TestNoRecorder(t *testing.T) {
	require.Nil(t, Active(t.Context()))
	r := Active(t.Context())
	r.Span(Loop, "op", "dot", "", 0, time.Now())
	r.Begin(Loop, "op", "dot", "", 0, r.Pair())
	r.End(Loop, "op", "dot", "", 0)
}

// A second Stop of one recorder does not hide another one.
func TestRecordersAreCounted(t *testing.T) {
	ctx, slot := Context(t.Context())
	other, otherSlot := Context(t.Context())
	first, err := slot.Start(1)
	require.NoError(t, err)
	second, err := otherSlot.Start(1)
	require.NoError(t, err)
	first.Stop()
	first.Stop()
	require.Nil(t, Active(ctx))
	require.Same(t, second, Active(other))
	second.Stop()
	require.Nil(t, Active(other))
}
