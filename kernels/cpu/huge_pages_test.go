package cpu

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"
	"unsafe"

	"github.com/gokeras/gokeras/kernels/cpu/internal/plan"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestAlignedMemory: memory of every size is zero, aligned and not shared.
func TestAlignedMemory(t *testing.T) {
	var all [][]byte
	for _, n := range []int{1, 63, 64, 4097, plan.MinSlab - 1, plan.MinSlab, plan.MinSlab + 1, plan.HugePage/2 - 1, plan.HugePage / 2, plan.HugePage - 1, plan.HugePage, plan.HugePage + 1, 5*plan.HugePage/2 + 3} {
		for _, allocate := range []func(int) []byte{plan.AlignedBytes, plan.BufferBytes, plan.BufferBytes, plan.BufferBytes} {
			b := allocate(n)
			require.Len(t, b, n)
			assert.Equal(t, n, cap(b))
			assert.Zero(t, uintptr(unsafe.Pointer(&b[0]))%plan.Alignment, n)
			all = append(all, b)
		}
	}
	assert.Nil(t, plan.AlignedBytes(0))
	assert.Empty(t, plan.BufferBytes(0))
	filled := func(b []byte, with int) bool { return bytes.Count(b, []byte{byte(with)}) == len(b) }
	for i, b := range all {
		require.True(t, filled(b, 0), len(b))
		for j := range b {
			b[j] = byte(i + 1)
		}
	}
	for i, b := range all {
		require.True(t, filled(b, i+1), len(b))
	}
}

// TestHugePages: large memory is marked for huge pages, in the flags that the system has for it.
func TestHugePages(t *testing.T) {
	b := plan.AlignedBytes(3*plan.HugePage + plan.HugePage/4)
	address := uint64(uintptr(unsafe.Pointer(&b[plan.HugePage])))
	maps, err := os.ReadFile("/proc/self/smaps")
	if err != nil || !strings.Contains(string(maps), "VmFlags:") {
		t.Skip("this system does not tell the flags of memory")
	}
	inside := false
	for line := range strings.Lines(string(maps)) {
		var from, to uint64
		if n, _ := fmt.Sscanf(line, "%x-%x ", &from, &to); n == 2 {
			inside = from <= address && address < to
		}
		if flags, ok := strings.CutPrefix(line, "VmFlags:"); ok && inside {
			assert.Contains(t, strings.Fields(flags), "hg")
			return
		}
	}
	t.Fatal("the memory is not in the system's list")
}
