package keras_test

import (
	"archive/zip"
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/gokeras/gokeras/internal/hdf5"
	"github.com/gokeras/gokeras/keras"
)

func TestZZSlow(t *testing.T) {
	weights := hdf5.NewWriter()
	var h5 bytes.Buffer
	weights.WriteTo(&h5)
	seeds := []string{
		`{"class_name":"Sequential","config":{"name":"s","layers":[{"class_name":"InputLayer","config":{"batch_shape":[null,3],"name":"x"}},{"class_name":"Dense","config":{"units":2}}]},"compile_config":{"optimizer":"adam","loss":"mse"}}`,
		`{"class_name":"Functional","config":{"name":"f","layers":[{"class_name":"InputLayer","name":"x","config":{"batch_shape":[null,3],"name":"x"},"inbound_nodes":[]},{"class_name":"Dense","name":"d","config":{"units":2,"name":"d"},"inbound_nodes":[{"args":[{"class_name":"__keras_tensor__","config":{"keras_history":["x",0,0]}}],"kwargs":{}}]}],"input_layers":["x",0,0],"output_layers":["d",0,0]}}`,
	}
	end := time.Now().Add(25 * time.Second)
	n := 0
	for time.Now().Before(end) {
		b := []byte(seeds[rand.IntN(2)])
		for range 1 + rand.IntN(3) {
			i := rand.IntN(len(b))
			switch rand.IntN(4) {
			case 0:
				b[i] = byte(rand.IntN(96) + 32)
			case 1:
				b = append(b[:i:i], append([]byte(fmt.Sprint(rand.IntN(10))), b[i:]...)...)
			case 2:
				b = append(b[:i:i], b[min(i+1+rand.IntN(4), len(b)):]...)
			case 3:
				j := bytes.IndexAny(b[i:], "0123456789")
				if j >= 0 {
					b = append(b[:i+j:i+j], append([]byte("99999999999"[:1+rand.IntN(11)]), b[i+j:]...)...)
				}
			}
		}
		var file bytes.Buffer
		w := zip.NewWriter(&file)
		for name, content := range map[string][]byte{"config.json": b, "model.weights.h5": h5.Bytes()} {
			m, _ := w.CreateHeader(&zip.FileHeader{Name: name})
			m.Write(content)
		}
		w.Close()
		start := time.Now()
		_, err := keras.ReadModel(bytes.NewReader(file.Bytes()), int64(file.Len()))
		n++
		if d := time.Since(start); d > 500*time.Millisecond {
			fmt.Println(d, string(b), err)
		}
	}
	fmt.Println(n)
}
