package keras_test

import (
	"archive/zip"
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/internal/hdf5"
	"github.com/gokeras/gokeras/keras"
)

// FuzzReadModel loads arbitrary data: it may fail, but not panic, hang or use excessive memory.
func FuzzReadModel(f *testing.F) {
	seeds, err := filepath.Glob(filepath.Join("testdata", "hostile", "*"))
	require.NoError(f, err)
	for _, path := range seeds {
		text, err := os.ReadFile(path)
		require.NoError(f, err)
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, file []byte) {
		_, _ = keras.ReadModel(bytes.NewReader(file), int64(len(file)))
	})
}

// FuzzConfig loads an archive with an arbitrary configuration.
func FuzzConfig(f *testing.F) {
	weights := hdf5.NewWriter()
	var h5 bytes.Buffer
	_, err := weights.WriteTo(&h5)
	require.NoError(f, err)
	for _, config := range []string{
		`{"class_name":"Sequential","config":{"name":"s","layers":[{"class_name":"InputLayer","config":{"batch_shape":[null,3],"name":"x"}},{"class_name":"Dense","config":{"units":2}}]},"compile_config":{"optimizer":"adam","loss":"mse"}}`,
		`{"class_name":"Functional","config":{"name":"f","layers":[{"class_name":"InputLayer","name":"x","config":{"batch_shape":[null,3],"name":"x"},"inbound_nodes":[]},{"class_name":"Dense","name":"d","config":{"units":2,"name":"d"},"inbound_nodes":[{"args":[{"class_name":"__keras_tensor__","config":{"keras_history":["x",0,0]}}],"kwargs":{}}]}],"input_layers":["x",0,0],"output_layers":["d",0,0]}}`,
		`{"class_name":"Functional","config":{"name":"f","layers":[{"class_name":"InputLayer","config":{"batch_input_shape":[null,3],"name":"x"},"name":"x","inbound_nodes":[]},{"class_name":"Dense","config":{"units":2,"name":"d"},"name":"d","inbound_nodes":[[["x",0,0,{}]]]}],"input_layers":[["x",0,0]],"output_layers":[["d",0,0]]}}`,
	} {
		f.Add(config)
	}
	f.Fuzz(func(t *testing.T, config string) {
		var file bytes.Buffer
		w := zip.NewWriter(&file)
		for name, content := range map[string][]byte{"config.json": []byte(config), "model.weights.h5": h5.Bytes()} {
			member, err := w.CreateHeader(&zip.FileHeader{Name: name})
			require.NoError(t, err)
			_, err = member.Write(content)
			require.NoError(t, err)
		}
		require.NoError(t, w.Close())
		_, _ = keras.ReadModel(bytes.NewReader(file.Bytes()), int64(file.Len()))
	})
}
