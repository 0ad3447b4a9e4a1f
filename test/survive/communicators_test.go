package survive

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// Communicators beyond those that there is room for are unknown, and counted once each: what is called on them is not
// counted for one that has had the same handle before.
func TestMoreCommunicatorsThanRoom(t *testing.T) {
	const made, predefined = 5000, 2
	for _, m := range both {
		for _, how := range []string{"freed", "kept"} {
			if how == "kept" && m == mpich {
				continue // has 2,048 at a time
			}
			t.Run(m.name+" "+how, func(t *testing.T) {
				need(t, m.cc, m.launch[0])
				directory := t.TempDir()
				program, to := subject{source: "communicators.c"}.compile(t, m, directory), filepath.Join(directory, "run")
				measured := run(t, directory, nil, slices.Concat(m.launch, []string{"-n", "1", filepath.Join(build, "marple"), "exec", "--out", to, "--", program, how}))
				require.Equal(t, "exit 0", measured.code, measured.err)
				k, err := read(to)
				require.NoError(t, err)
				listed := 0
				for _, c := range k.Communicators {
					switch c.Name {
					case "unknown":
						continue
					case "":
						require.LessOrEqual(t, c.Calls, uint64(2), c)
					}
					listed++
				}
				require.NotEmpty(t, k.NotSeen)
				require.Equal(t, "communicators-lost", k.NotSeen[0].ID)
				require.EqualValues(t, made+predefined-listed, k.NotSeen[0].Count)
			})
		}
	}
}
