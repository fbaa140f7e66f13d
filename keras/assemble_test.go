package keras

import (
	"errors"
	"reflect"
	"runtime"
	"testing"
	"time"
	"weak"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/data"
	"github.com/gokeras/gokeras/keras/ops"
	"github.com/gokeras/gokeras/layers"
)

type assembledOnce struct {
	Units  int
	Hidden layers.Layer
}

func (a *assembledOnce) Assemble() error {
	if a.Units == 0 {
		return errors.New("no units")
	}
	a.Hidden = &layers.Dense{Units: a.Units}
	return nil
}

func (a *assembledOnce) Call(c *layers.Context, x *ops.Tensor) *ops.Tensor {
	return layers.Invoke(a.Hidden, c, x)
}

// assembledInside has the address of its first field.
type assembledInside struct{ assembledOnce }

// TestAssembledOnce: a second model of a value does not take the layers of the first, and a failed attempt may be
// repeated.
func TestAssembledOnce(t *testing.T) {
	value := &assembledOnce{}
	_, err := NewModel(value)
	require.ErrorContains(t, err, "Assemble: no units")
	value.Units = 2
	_, err = NewModel(value, DTypePolicy("float17"))
	require.Error(t, err)
	m, err := NewModel(value)
	require.NoError(t, err)
	x := data.Arrays([][]float32{{1, 2, 3}}, nil)
	want, err := m.PredictOnBatch(t.Context(), x)
	require.NoError(t, err)
	hidden := value.Hidden
	value.Units = 3
	_, err = NewModel(value)
	require.EqualError(t, err, "keras: NewModel: *keras.assembledOnce: a model was made of this value before, and Assemble would replace the layers that it trains; use that model, or pass a new value")
	require.Same(t, hidden, value.Hidden)
	got, err := m.PredictOnBatch(t.Context(), x)
	require.NoError(t, err)
	require.Equal(t, want.Elements(), got.Elements())
	copied := *value
	_, err = NewModel(&copied)
	require.NoError(t, err)
	_, err = NewModel(&assembledInside{assembledOnce{Units: 1}})
	require.NoError(t, err)
}

// TestAssembledIsForgotten: making a model from a value keeps neither the value nor its memory alive.
func TestAssembledIsForgotten(t *testing.T) {
	key := func() assembly {
		value := &assembledOnce{Units: 2}
		_, err := NewModel(value)
		require.NoError(t, err)
		v := reflect.ValueOf(value)
		key := assembly{weak.Make((*byte)(v.UnsafePointer())), v.Type()}
		_, held := assembled.Load(key)
		require.True(t, held)
		return key
	}()
	require.Eventually(t, func() bool {
		runtime.GC()
		_, held := assembled.Load(key)
		return !held && key.at.Value() == nil
	}, 10*time.Second, time.Millisecond)
}
