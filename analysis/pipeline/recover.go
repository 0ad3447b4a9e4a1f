package pipeline

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"marple/analysis/files"
	"marple/analysis/invocation"
	"marple/analysis/knowledge"
	"marple/analysis/names"
	"marple/analysis/profile"
	"marple/analysis/run"
	"marple/analysis/trace"
)

// mergedFile holds what all ranks had gathered at rank 0, from then until the run is stored.
const mergedFile = "merged"

// Keep stores a merged profile in a run directory, for Recover. The ranks' record files are not needed
// any more.
func Keep(p *profile.Profile, directory files.Directory) error {
	raw, err := directory.Directory(run.RawDir)
	if err != nil {
		return err
	}
	return raw.File(mergedFile).ReplaceBy(profile.Encode(p))
}

// Tidy removes what was kept for Recover, once the run is stored.
func Tidy(directory files.Directory) {
	if raw, err := directory.Directory(run.RawDir); err == nil {
		_ = raw.File(mergedFile).Remove()
		if raw.RemoveEmpty() == nil { // not if the ranks' record files are kept
			_ = directory.File(run.HostsFile).Remove() // mostly there is none
		}
	}
}

// Clear removes all that ranks have left, once the run that was made of it is stored. It does nothing while one of them
// still runs or has left nothing yet.
func Clear(directory files.Directory, r *run.Run) error {
	if r.Measured < r.Ranks || slices.ContainsFunc(r.PerRank, func(p run.RankBalance) bool { return p.Ended == "running" }) {
		return nil
	}
	raw, err := directory.Directory(run.RawDir)
	if err != nil {
		return err
	}
	names, err := raw.Names()
	for _, name := range names {
		err = errors.Join(err, raw.File(name).Remove())
	}
	if err = errors.Join(err, raw.RemoveEmpty()); err == nil {
		_ = directory.File(run.HostsFile).Remove() // mostly there is none
	}
	return err
}

// Recover makes a run of what was left in a run directory by ranks that did not get to the end of
// MPI_Finalize. Ranks that still run are waited for so long; after that they count as far as they got. Problems
// are files that could not be read, or only in part; the error is set when nothing could. Further directories have what ranks
// on other hosts have left of the same run.
func Recover(directory files.Directory, wait time.Duration, library knowledge.Library, further ...string) (r *run.Run, problems []error, err error) {
	raw := filepath.Join(directory.String(), run.RawDir)
	if data, err := files.Read(filepath.Join(raw, mergedFile), profile.MaxMessage); err == nil {
		p, err := profile.Decode(data)
		if err == nil {
			r, problem := Conclude(p, names.Host, library), error(nil)
			sources, err := invocation.Load(directory)
			if err := errors.Join(err, KeepInvocations(r, directory, sources)); err != nil {
				problem = fmt.Errorf("%s: %w", run.InvocationsFile, err)
			}
			return r, collect(problem), nil
		}
		problems = append(problems, fmt.Errorf("%s: %w", filepath.Join(raw, mergedFile), err))
	}
	var found []string
	var whose identity
	for _, place := range append([]string{directory.String()}, further...) {
		list, err := recordsIn(place)
		if err != nil {
			return nil, nil, err
		}
		if len(list) == 0 && len(further) > 0 {
			problems = append(problems, fmt.Errorf("%s: no record files in %s", place, run.RawDir))
		}
		if len(found) == 0 {
			whose = identityOf(list)
		}
		found = append(found, list...)
	}
	if len(found) == 0 {
		if len(problems) > 0 {
			return nil, nil, problems[0]
		}
		if _, err := os.Stat(filepath.Join(directory.String(), run.File)); err == nil {
			return nil, nil, fmt.Errorf("%s: the run is complete; print it with: marple report %s", directory, directory)
		}
		return nil, nil, fmt.Errorf("%s: no record files in %s", directory, run.RawDir)
	}
	for until := time.Now().Add(wait); time.Now().Before(until) && slices.ContainsFunc(found, trace.Running); {
		time.Sleep(5 * time.Millisecond)
	}
	// Pairwise, like the ranks themselves: the k-th merge of a chain would cost as much as all before it.
	var level []*profile.Profile
	var sources []*invocation.Source
	seen := map[int32]string{}
	logs := &trace.Logs{}
	for _, file := range found {
		p, left, err := trace.Read(file)
		if err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", file, err))
		}
		if p == nil {
			continue
		}
		if h := p.Header(); h.Ranks != whose.ranks {
			problems = append(problems, fmt.Errorf("%s: left out: of a run on %d ranks, where others are of one on %d", file, h.Ranks, whose.ranks))
			continue
		} else if h.Run != whose.run {
			problems = append(problems, fmt.Errorf("%s: left out: of another run than others", file))
			continue
		}
		if other, twice := seen[p.Header().Rank]; twice {
			problems = append(problems, fmt.Errorf("%s: left out: %s is of the same rank", file, other))
			continue
		}
		seen[p.Header().Rank] = file
		level = append(level, profile.FromProcess(p, left.Logs))
		logs.Add(file, p, left.Logs)
		if left.Invocations != nil {
			sources = append(sources, left.Invocations)
		}
	}
	if len(level) == 0 {
		if unfit := (*files.Unfit)(nil); !slices.ContainsFunc(problems, func(e error) bool { return !errors.As(e, &unfit) }) {
			return nil, nil, problems[0] // once, and not for each rank
		}
		return nil, problems, fmt.Errorf("%s: no record file can be read", directory)
	}
	for len(level) > 1 {
		var next []*profile.Profile
		for i := 0; i < len(level); i += 2 {
			if i+1 < len(level) {
				level[i] = profile.Merge(level[i], level[i+1])
			}
			next = append(next, level[i])
		}
		level = next
	}
	if err := logs.Replay(level[0]); err != nil {
		problems = append(problems, err)
	}
	r = Conclude(level[0], names.Host, library)
	if err := KeepInvocations(r, directory, sources); err != nil {
		problems = append(problems, fmt.Errorf("%s: %w", run.InvocationsFile, err))
	}
	return r, problems, nil
}

// recordsIn lists the record files of a run directory.
func recordsIn(directory string) ([]string, error) {
	names, err := os.ReadDir(filepath.Join(directory, run.RawDir))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	var list []string
	for _, e := range names { // sorted
		if filepath.Ext(e.Name()) == ".mrl" {
			list = append(list, filepath.Join(directory, run.RawDir, e.Name()))
		}
	}
	return list, nil
}

// An identity is what all records of one run have in common.
type identity struct {
	ranks int32
	run   uint64
}

// identityOf is of the run that most of these record files say they are of. What a single file says may be damage.
func identityOf(files []string) (most identity) {
	count := map[identity]int{}
	for _, file := range files {
		if h, err := trace.Header(file); err == nil {
			i := identity{h.Ranks, h.Run}
			if count[i]++; count[i] > count[most] {
				most = i
			}
		}
	}
	return most
}

// collect makes a list of an error, if it is one.
func collect(err error) []error {
	if err == nil {
		return nil
	}
	return []error{err}
}
