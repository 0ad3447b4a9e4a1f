package run

import (
	"fmt"
	"slices"
)

const singletons = "singletons"

// Singleton tells whether it is about a program whose processes were started together and do not know of each other.
func (n Note) Singleton() bool { return n.ID == singletons }

// StartedWith is told how many processes a launcher has started, and whose it is. Where the run has one rank all the same, it
// is one of so many singletons (MPI-4.0 section 11.8.3), and nothing else that is said of it matters before that is mended.
func (r *Run) StartedWith(launcher string, processes int) {
	if r.Ranks != 1 || processes < 2 {
		return
	}
	mend := "start it with mpirun of the installation that it was built with"
	switch {
	case launcher == "Slurm":
		mend = "start it with srun --mpi=pmix or --mpi=pmi2, as its MPI library was built, or with that library's own mpirun"
	case launcher != r.MPI.Family:
		mend = fmt.Sprintf("start it with the mpirun of %s", r.MPI.Family)
	}
	r.Conditions = slices.Insert(r.Conditions, 0, Note{ID: singletons, Count: uint64(processes), Text: fmt.Sprintf(
		"%d singletons instead of %d ranks: the launcher is %s's, the program's library %s's, and they do not understand each other, so each process is alone in MPI_COMM_WORLD; %s",
		processes, processes, launcher, r.MPI.Family, mend)})
}
