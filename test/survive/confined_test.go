package survive

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// What is done with files after a sandbox has been closed is not counted, and the report says so.
func TestFilesInASandbox(t *testing.T) {
	need(t, openMPI.cc, openMPI.launch[0])
	directory := t.TempDir()
	program := subject{source: "sandbox.c"}.compile(t, openMPI, directory)
	marple := filepath.Join(build, "marple")
	for _, io := range []string{"on", "off"} {
		to := filepath.Join(directory, "run-"+io)
		measured := run(t, directory, nil, slices.Concat(openMPI.launch, []string{"-n", "1", marple, "exec", "--io", io, "--out", to, program, "openat-denied"}))
		require.Equal(t, "exit 3", measured.code, measured.err)
		recovered := run(t, directory, nil, []string{marple, "recover", to})
		require.Equal(t, "exit 0", recovered.code, recovered.err)
		k, err := read(to)
		require.NoError(t, err)
		said := false
		for _, note := range k.NotSeen {
			said = said || note.ID == "files-confined"
		}
		require.Equal(t, io == "on", said, k.NotSeen)
	}
}
