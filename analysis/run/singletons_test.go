package run

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestSingletons(t *testing.T) {
	for _, c := range []struct {
		launcher  string
		processes int
		ranks     int
		says      string
	}{
		{"Open MPI", 4, 4, ""}, {"Open MPI", 1, 1, ""}, {"", 0, 1, ""},
		{"Open MPI", 4, 1, "4 singletons instead of 4 ranks: the launcher is Open MPI's, the program's library MPICH's, and they do not understand each other, so each process is alone in MPI_COMM_WORLD; start it with the mpirun of MPICH"},
		{"MPICH", 2, 1, "start it with mpirun of the installation that it was built with"},
		{"Slurm", 2, 1, "start it with srun --mpi=pmix"},
	} {
		r := &Run{Ranks: c.ranks, MPI: MPI{Family: "MPICH"}, Conditions: []Note{{ID: "other"}}}
		r.StartedWith(c.launcher, c.processes)
		if c.says == "" {
			assert.Len(t, r.Conditions, 1)
			continue
		}
		assert.True(t, r.Conditions[0].Singleton())
		assert.Contains(t, r.Conditions[0].Text, c.says)
	}
}
