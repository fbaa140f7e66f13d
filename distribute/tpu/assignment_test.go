package tpu

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokeras/gokeras/internal/recorded"
)

// recordedCase is what TensorFlow's DeviceAssignment.build made of its arguments.
type recordedCase struct {
	Topology   int             `json:"topology"`
	Replicas   int             `json:"replicas"`
	Order      string          `json:"order"`
	Shape      []int           `json:"shape"`
	Stride     []int           `json:"stride"`
	Assignment [][]Coordinates `json:"assignment"`
	Ordinals   []int           `json:"ordinals"`
	Devices    []string        `json:"devices"`
	Hosts      []string        `json:"hosts"`
	Lookup     []int           `json:"lookup"`
	Missing    []Coordinates   `json:"missing"`
	Error      string          `json:"error"`
}

func TestAssignmentsAreTensorFlows(t *testing.T) {
	recorded := recorded.JSON[struct {
		Topologies []struct {
			Mesh        Coordinates     `json:"mesh"`
			Coordinates [][]Coordinates `json:"coordinates"`
		} `json:"topologies"`
		Cases []recordedCase `json:"cases"`
	}](t, "testdata/tf_device_assignment.json.gz")
	require.Greater(t, len(recorded.Cases), 500)
	made, refused := 0, 0
	for i, c := range recorded.Cases {
		described := recorded.Topologies[c.Topology]
		name := fmt.Sprintf("case %d: %v, shape %v, stride %v, %d replicas, %s", i, described.Mesh, c.Shape, c.Stride, c.Replicas, c.Order)
		topology, err := NewTopology(described.Mesh, described.Coordinates)
		require.NoError(t, err, name)
		order := map[string]DeviceOrder{"AUTO": Auto, "RING": Ring, "MESH": Mesh}[c.Order]
		a, err := AssignDevices(topology, AssignmentOptions{ComputationShape: c.Shape, ComputationStride: c.Stride, Replicas: c.Replicas, Order: order})
		if c.Error != "" {
			require.Error(t, err, name)
			refused++
			continue
		}
		require.NoError(t, err, name)
		require.Equal(t, c.Assignment, a.cores, name)
		if c.Missing != nil {
			require.Equal(t, c.Missing, topology.MissingDevices(), name)
			continue
		}
		made++
		for r := range c.Replicas {
			ordinal, err := a.Ordinal(r, 0)
			require.NoError(t, err)
			require.Equal(t, c.Ordinals[r], ordinal, name)
			device, err := a.DeviceName(r, 0, "worker")
			require.NoError(t, err)
			require.Equal(t, c.Devices[r], device, name)
			host, err := a.HostName(r, 0, "worker")
			require.NoError(t, err)
			require.Equal(t, c.Hosts[r], host, name)
		}
		found, err := a.LookupReplicas(0, 0)
		require.NoError(t, err, name)
		require.Equal(t, c.Lookup, found, name)
	}
	require.Greater(t, made, 300)
	require.Greater(t, refused, 30)
}

func TestAssignmentMistakes(t *testing.T) {
	topology, err := NewTopology(Coordinates{2, 2, 1, 1}, [][]Coordinates{{{0, 0, 0, 0}, {1, 0, 0, 0}, {0, 1, 0, 0}, {1, 1, 0, 0}}})
	require.NoError(t, err)
	for _, c := range []struct {
		options AssignmentOptions
		message string
	}{
		{AssignmentOptions{Replicas: 5}, "5 replicas were asked for; 1 to 4 of shape [1 1 1 1] with stride [1 1 1 1] fit in a TPU of shape [2 2 1 1]"},
		{AssignmentOptions{Replicas: -1}, "-1 replicas were asked for"},
		{AssignmentOptions{ComputationShape: []int{4, 1, 1, 1}}, "a replica of shape [4 1 1 1] with stride [1 1 1 1] does not fit in a TPU of shape [2 2 1 1]"},
		{AssignmentOptions{ComputationShape: []int{1, 1}}, "the computation shape is [1 1]; expected four positive numbers"},
		{AssignmentOptions{ComputationStride: []int{1, 0, 1, 1}}, "the computation stride is [1 0 1 1]; expected four positive numbers"},
		{AssignmentOptions{Replicas: 2, Order: Ring}, "use Auto"},
		{AssignmentOptions{Order: 7}, "device order 7"},
	} {
		_, err := AssignDevices(topology, c.options)
		require.ErrorContains(t, err, c.message)
	}
	_, err = AssignDevices(nil, AssignmentOptions{})
	require.ErrorContains(t, err, "needs a topology")
	_, err = NewTopology(Coordinates{2, 2, 1, 0}, nil)
	require.ErrorContains(t, err, "expected four positive numbers")
	_, err = NewTopology(Coordinates{1, 1, 1, 1}, [][]Coordinates{{{1, 0, 0, 0}}})
	require.ErrorContains(t, err, "outside of the mesh")
	_, err = NewTopology(Coordinates{2, 1, 1, 1}, [][]Coordinates{{{1, 0, 0, 0}, {1, 0, 0, 0}}})
	require.ErrorContains(t, err, "where device 0 of task 0 is")
	_, err = NewTopology(Coordinates{2, 1, 1, 1}, [][]Coordinates{{{1, 0, 0, 0}}, {}})
	require.ErrorContains(t, err, "all need equally many")
	_, err = NewDeviceAssignment(topology, [][]Coordinates{{{0, 0, 0, 0}}, {{0, 0, 0, 0}}})
	require.ErrorContains(t, err, "assigned twice")
	_, err = NewDeviceAssignment(topology, [][]Coordinates{{{0, 0, 3, 0}}})
	require.ErrorContains(t, err, "no device lies at [0 0 3 0]")
	_, err = NewDeviceAssignment(topology, nil)
	require.ErrorContains(t, err, "one replica")
	a, err := NewDeviceAssignment(topology, [][]Coordinates{{{0, 0, 0, 0}}})
	require.NoError(t, err)
	_, err = a.Coordinates(1, 0)
	require.ErrorContains(t, err, "no logical core 0 of replica 1")
	_, err = a.LookupReplicas(1, 0)
	require.ErrorContains(t, err, "no replica has its logical core 0 on task 1")
}
