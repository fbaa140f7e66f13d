package main

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/distribute/cluster"
	"github.com/gokeras/gokeras/internal/ports"
)

// field returns what stands after a key in a manifest; it must stand there once, or alike wherever it does.
func field(t *testing.T, text, key string) string {
	t.Helper()
	matches := regexp.MustCompile(`(?m)^ *(?:- )?`+regexp.QuoteMeta(key)+`: *"?([^"\n]*)"?$`).FindAllStringSubmatch(text, -1)
	require.NotEmpty(t, matches, key)
	for _, m := range matches {
		require.Equal(t, matches[0][1], m[1], key)
	}
	return matches[0][1]
}

// The manifests are YAML, agree in themselves, and give pods the names that the resolver expects.
func TestKubernetesManifests(t *testing.T) {
	for name, count := range map[string]string{"kubernetes-job.yaml": "completions", "kubernetes-gpu-job.yaml": "completions", "kubernetes-statefulset.yaml": "replicas"} {
		data, err := os.ReadFile(name)
		require.NoError(t, err)
		documents := strings.Split(string(data), "\n---\n")
		require.Len(t, documents, 2)
		for _, d := range documents {
			require.YAMLEq(t, d, d) // it can be read
			require.NotContains(t, d, "\t")
		}
		service, set := documents[0], documents[1]
		require.Equal(t, []string{"v1", "Service", "None", "true"},
			[]string{field(t, service, "apiVersion"), field(t, service, "kind"), field(t, service, "clusterIP"), field(t, service, "publishNotReadyAddresses")})
		app := field(t, service, "app")
		require.Equal(t, app, field(t, set, "app"))
		workers := field(t, set, count)
		env := map[string]string{"KERAS_WORKERS": regexp.MustCompile(`KERAS_WORKERS\n *value: "(\d+)"`).FindStringSubmatch(set)[1], "POD_NAMESPACE": "ml"}
		require.Equal(t, workers, env["KERAS_WORKERS"])
		holder := "apps/v1 StatefulSet serviceName"
		if count == "completions" {
			require.Equal(t, workers, field(t, set, "parallelism"))
			require.Equal(t, "Indexed", field(t, set, "completionMode"))
			env["JOB_COMPLETION_INDEX"] = "1" // Kubernetes sets it
			holder = "batch/v1 Job subdomain"
		} else {
			require.Equal(t, "Parallel", field(t, set, "podManagementPolicy")) // one after another would wait forever
		}
		words := strings.Fields(holder)
		require.Equal(t, words[:2], []string{field(t, set, "apiVersion"), field(t, set, "kind")})
		serviceName := regexp.MustCompile(`metadata:\n  name: (\S+)`).FindStringSubmatch(service)[1]
		require.Equal(t, serviceName, field(t, set, words[2]))

		podSet := regexp.MustCompile(`metadata:\n  name: (\S+)`).FindStringSubmatch(set)[1]
		env["HOSTNAME"] = podSet + "-1"
		spec, task, err := cluster.Resolve(&cluster.Kubernetes{Lookup: func(key string) (string, bool) { v, ok := env[key]; return v, ok }})
		require.NoError(t, err)
		require.Equal(t, cluster.Task{Type: cluster.Worker, Index: 1}, task)
		members, err := cluster.Members(spec)
		require.NoError(t, err)
		require.Len(t, members, map[bool]int{true: 2, false: 3}[strings.Contains(name, "gpu")])
		for i, m := range members {
			require.Equal(t, fmt.Sprintf("%s-%d.%s.ml.svc.cluster.local:%s", podSet, i, serviceName, field(t, service, "port")), m.Address)
		}
		require.Equal(t, field(t, service, "port"), field(t, set, "containerPort"))
	}
}

// The batch script is a shell script, asks for tasks as the program expects them, and passes flags that exist.
func TestSlurmScript(t *testing.T) {
	for _, name := range []string{"slurm.sbatch", "slurm-gpu.sbatch"} {
		t.Run(name, func(t *testing.T) { checkScript(t, name) })
	}
}

func checkScript(t *testing.T, name string) {
	data, err := os.ReadFile(name)
	require.NoError(t, err)
	text := string(data)
	if shell, err := exec.LookPath("sh"); err == nil {
		out, err := exec.Command(shell, "-n", name).CombinedOutput()
		require.NoError(t, err, string(out))
	}
	body := strings.Index(text, "set -eu")
	require.Greater(t, body, strings.LastIndex(text, "#SBATCH"), "Slurm reads options up to the first command")
	source, err := os.ReadFile("main.go")
	require.NoError(t, err)
	for _, m := range regexp.MustCompile(` -([a-z]+) `).FindAllStringSubmatch(text[strings.Index(text, "exec srun"):], -1) {
		require.Contains(t, string(source), `("`+m[1]+`", `)
	}
}

// The environment of two tasks of a Slurm step on one node is enough to train.
func TestSlurmEnvironment(t *testing.T) {
	addresses, err := ports.Free(2) // side by side
	require.NoError(t, err)
	_, port, err := net.SplitHostPort(addresses[0])
	require.NoError(t, err)
	var workers []*exec.Cmd
	outputs := make([]bytes.Buffer, 2)
	for i := range 2 {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-cluster", "slurm", "-port", port, "-epochs", "2", "-backup", t.TempDir())
		cmd.Env = append(os.Environ(), "EXAMPLE_WORKER=1", "KERAS_SECRET=b8b7b265c39dc822f029ed29780e8a1b02335b8a254367c4b2fdfaf6b3cc75c8", "SLURM_JOB_ID=4711", "SLURM_JOB_NUM_NODES=1", "SLURM_NTASKS=2",
			fmt.Sprintf("SLURM_PROCID=%d", i), fmt.Sprintf("SLURM_LOCALID=%d", i), "SLURM_STEP_NUM_TASKS=2", "SLURM_STEP_NUM_NODES=1", "SLURM_STEP_NODELIST=127.0.0.1",
			"SLURM_STEP_TASKS_PER_NODE=2", "SLURM_STEP_ID=0")
		cmd.Stdout, cmd.Stderr = &outputs[i], &outputs[i]
		require.NoError(t, cmd.Start())
		workers = append(workers, cmd)
	}
	for i, cmd := range workers {
		require.NoError(t, cmd.Wait(), outputs[i].String())
	}
	require.Contains(t, outputs[0].String(), "2 workers, 2 replicas: loss ")
	require.Empty(t, outputs[1].String())
}
