package page

import (
	"io"
	"time"
)

// Jobs is the page on the jobs that a site has measured.
type Jobs struct {
	Title   string
	Whose   string // jobs these are
	Groups  []JobGroup
	Filters []JobFilter
	From    string // a day, as all that are in the form
	Change  string
	// Imbalance is a number of percent, or empty.
	Imbalance string
	Error     string // that the question has
	Table     JobTable
	Jobs      []Job
}

// JobGroup is what jobs can be added up by.
type JobGroup struct {
	Name   string
	Chosen bool
}

// JobFilter is a name that jobs are chosen by; an empty value chooses all.
type JobFilter struct{ Name, Value string }

// JobTable has a row for each group; the first column is its name.
type JobTable struct {
	Head []Sort
	Rows []JobRow
	Cut  string // what is left out, if anything is
}

// JobRow is a group; its link shows what is in it.
type JobRow struct {
	Name, Link string
	Cells      []string
}

// Job is one of the list. Wall is seconds.
type Job struct {
	Program, User, Account, Job string
	Started                     time.Time
	Ranks                       int
	Wall, Parallel, LoadBalance float64
	Finding, Where, Advice      string
	Incomplete                  bool
}

// WriteJobs writes the page on the jobs that a site has measured.
func WriteJobs(out io.Writer, j Jobs) error { return styled(out, "jobs.html", j) }
