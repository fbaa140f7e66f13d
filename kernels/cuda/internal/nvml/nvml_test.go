//go:build linux

package nvml

import (
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// library builds the library in testdata and makes it the one that is found.
func library(t *testing.T) {
	compiler, err := exec.LookPath("gcc")
	if err != nil {
		t.Skip("there is no gcc to build the libnvidia-ml.so.1 of testdata")
	}
	folder := t.TempDir()
	out, err := exec.Command(compiler, "-Wall", "-O1", "-shared", "-fPIC", "-o", filepath.Join(folder, file), "testdata/libnvidia-ml.c").CombinedOutput()
	require.NoError(t, err, "%s", out)
	t.Setenv("GOKERAS_CUDA_PATH", folder)
}

// TestSurvey covers either binding: run it with CGO_ENABLED=1 and =0.
func TestSurvey(t *testing.T) {
	library(t)
	m, err := Survey()
	require.NoError(t, err)
	require.Equal(t, "550.54.15", m.Driver)
	require.Len(t, m.GPUs, 5)
	for i, g := range m.GPUs {
		require.Equal(t, GPU{UUID: "GPU-test-" + string(rune('0'+i)), Bus: BusOf(0, 0xa0+i, 0), Total: 8 << 30, Used: uint64(1+i) << 20}, g)
		require.Equal(t, i, m.Find(BusOf(0, 0xa0+i, 0)))
	}
	require.Equal(t, -1, m.Find(BusOf(1, 0xa0, 0)))
	want := [][]string{
		{"board", "NV4", "PHB", "PHB", "SYS"},
		{"NV4", "board", "PHB", "PHB", "SYS"},
		{"PHB", "PHB", "board", "NV2", "SYS"}, // through the switch: the smaller of the two numbers of links
		{"PHB", "PHB", "NV2", "board", "SYS"},
		{"SYS", "SYS", "SYS", "SYS", "board"},
	}
	for i, row := range m.Links {
		for j, l := range row {
			require.Equal(t, want[i][j], l.String(), "%d to %d", i, j)
		}
	}
	again, err := Survey() // the library can be loaded again after it was closed
	require.NoError(t, err)
	require.Equal(t, m, again)
}

// Each failing call gives an error that names it.
func TestSurveyFails(t *testing.T) {
	library(t)
	for _, call := range []string{
		"nvmlSystemGetDriverVersion", "nvmlDeviceGetCount_v2", "nvmlDeviceGetHandleByIndex_v2", "nvmlDeviceGetUUID", "nvmlDeviceGetPciInfo_v3",
		"nvmlDeviceGetMemoryInfo", "nvmlDeviceGetTopologyCommonAncestor", "nvmlDeviceGetNvLinkState", "nvmlDeviceGetNvLinkRemotePciInfo_v2", "nvmlShutdown", "nvmlInit_v2",
	} {
		t.Run(call, func(t *testing.T) {
			t.Setenv("NVML_FAIL", call)
			_, err := Survey()
			require.ErrorContains(t, err, call)
			require.ErrorContains(t, err, "999")
		})
	}
}

// The error on machines without the driver.
func TestNoLibrary(t *testing.T) {
	t.Setenv("GOKERAS_CUDA_PATH", t.TempDir())
	if m, err := Survey(); err == nil {
		t.Skipf("this machine has the library, for driver %s", m.Driver)
	} else {
		require.ErrorContains(t, err, "there is no libnvidia-ml.so.1, which comes with the driver")
	}
}
