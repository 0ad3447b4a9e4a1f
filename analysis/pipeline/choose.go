package pipeline

import (
	"context"
	"fmt"
	"time"

	"marple/analysis/run"
	"marple/analysis/selection"
	"marple/analysis/selection/graph"
	"marple/analysis/selection/prune"
)

// Choose selects implementations for a run out of a file of families, or what the program has declared of them, within
// about a second: the program waits. The records of its components' invocations are in its directory, if they
// are kept. If it is not possible to choose, a note says why.
func Choose(r *run.Run, families, directory string) {
	if families == "" && len(r.Families) == 0 {
		return
	}
	s, err := choose(r, families, directory)
	if err != nil {
		r.NotSeen = append(r.NotSeen, run.Note{ID: "selection", Text: fmt.Sprintf("implementations were not chosen: %v", err)})
		return
	}
	r.Selection = s
}

func choose(r *run.Run, families, directory string) (*run.Selection, error) {
	g, err := graph.FromRun(r)
	if err != nil {
		return nil, err
	}
	plan, err := selection.PlanOf(families, r.Families)
	if err != nil {
		return nil, err
	}
	var given selection.Sizes
	if directory != "" {
		invocations, err := selection.Invocations(directory)
		if err != nil {
			return nil, err
		}
		if err := plan.Fit(invocations); err != nil {
			return nil, err
		}
		given.Records = selection.Recorded(invocations)
	}
	if err := plan.Measure(directory); err != nil {
		return nil, err
	}
	a, err := selection.Select(context.Background(), selection.Question{Graph: g.Grouped(), Plan: plan, Given: given, Rule: prune.Rule{Alpha: 0.1, Beta: 0.1},
		Best: 3, Draws: 200, Within: time.Second})
	if err != nil {
		return nil, err
	}
	return &a.Selection, nil
}
