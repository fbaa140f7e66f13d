package main

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/distribute/cluster"
)

// The manifests are YAML, and give each pod the place in the cluster that its name stands for.
func TestKubernetesManifests(t *testing.T) {
	text, err := os.ReadFile("kubernetes.yaml")
	require.NoError(t, err)
	documents := strings.Split(string(text), "\n---\n")
	require.Len(t, documents, 4)
	for _, d := range documents {
		require.YAMLEq(t, d, d) // it can be read
		require.NotContains(t, d, "\t")
	}
	find := func(text, pattern string) string {
		m := regexp.MustCompile(pattern).FindStringSubmatch(text)
		require.NotNil(t, m, pattern)
		return m[1]
	}
	service := find(documents[0], `metadata:\n  name: (\S+)`)
	for _, d := range documents[1:] {
		name, replicas := find(d, `metadata:\n  name: (\S+)`), find(d, `replicas: (\d+)`)
		require.Equal(t, service, find(d, `serviceName: (\S+)`))
		config := strings.ReplaceAll(find(d, `name: TF_CONFIG\n *value: '(.*)'`), "$(POD_INDEX)", "0") // Kubernetes puts the number in
		t.Setenv(cluster.TFConfigVariable, config)
		spec, task, err := cluster.Resolve(&cluster.TFConfig{})
		require.NoError(t, err)
		n, err := spec.NumTasks(task.Type)
		require.NoError(t, err)
		require.Equal(t, replicas, string(rune('0'+n)))
		for i := range n {
			address, err := spec.Address(cluster.Task{Type: task.Type, Index: i})
			require.NoError(t, err)
			require.Equal(t, name+"-"+string(rune('0'+i))+"."+service+":8470", address)
		}
	}
}
