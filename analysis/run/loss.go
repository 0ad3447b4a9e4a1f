package run

// Loss is what a run loses in MPI, in shares of the core time that findings are of (with a core for each rank, where the run was
// replayed so): Lost = Explained + Unexplained.
type Loss struct {
	Lost float64 `json:"lost"` // 1 - parallel efficiency
	// Explained is what findings cost together, at most Lost. Two may tell of the same waiting, so it is an upper bound, and
	// Unexplained a lower one. What may as well be nothing explains nothing.
	Explained   float64 `json:"explained"`
	Unexplained float64 `json:"unexplained"`
}

// Account says how much of what a run loses its findings explain; nil if nothing was measured.
func Account(r *Run) *Loss {
	c := r.Replayed().Core
	mpi := c.MPI - min(c.MPI, c.Waited)
	if c.Useful+mpi == 0 {
		return nil
	}
	x := &Loss{Lost: float64(mpi) / float64(c.Useful+mpi)}
	for _, f := range r.Findings {
		x.Explained += f.Share
	}
	x.Explained = min(x.Explained, x.Lost)
	x.Unexplained = x.Lost - x.Explained
	return x
}
