package run_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"

	"marple/analysis/analysistest"
	"marple/analysis/diagnosis"
	"marple/analysis/record"
	"marple/analysis/run"
)

const ms = 1_000_000

func sample() *run.Run {
	r := analysistest.Run(3, 2, func(r *analysistest.Rank) {
		r.Region("part", func() { r.Compute(10 * ms); r.OffCore(ms); r.Barrier(5, uint64(r.Rank)*ms) })
		r.Send(6, (r.Rank+1)%3, 100, ms)
		r.Recv(7, (r.Rank+2)%3, 100, ms)
		r.Call(8, "MPI_Iprobe", record.OpTest, record.Nonblocking, record.Call{Duration: 5, Hit: true, Peer: record.Any})
	})
	r.Findings = diagnosis.Find(r)
	return r
}

func TestRunsFollowThePublishedSchema(t *testing.T) {
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(run.SchemaJSON()))
	require.NoError(t, err)
	c := jsonschema.NewCompiler()
	require.NoError(t, c.AddResource("run.json", document))
	schema, err := c.Compile("run.json")
	require.NoError(t, err)
	data, err := sample().Encode()
	require.NoError(t, err)
	instance, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	require.NoError(t, err)
	require.NoError(t, schema.Validate(instance))
	require.Error(t, schema.Validate(map[string]any{"schema": 2}), "a schema that accepts anything proves nothing")
}

func TestPublishedSchemaIsThatOfTheTypes(t *testing.T) {
	fresh := filepath.Join(t.TempDir(), "schema.json")
	// Comments are looked up by import path, which the generator derives from the path it is given.
	command := exec.Command("go", "run", "./analysis/run/schemagen", "./analysis/run", fresh)
	command.Dir = "../.."
	out, err := command.CombinedOutput()
	require.NoError(t, err, string(out))
	data, err := os.ReadFile(fresh)
	require.NoError(t, err)
	require.Equal(t, string(run.SchemaJSON()), string(data), "make schema writes it anew")
}

func TestWhatIsWrittenCanBeRead(t *testing.T) {
	directory := t.TempDir()
	r := sample()
	require.NoError(t, r.Write(analysistest.In(directory), "report\n"))
	again, err := run.Read(directory)
	require.NoError(t, err)
	require.Equal(t, r, again)
	entries, err := os.ReadDir(directory)
	require.NoError(t, err)
	require.Len(t, entries, 2, "no temporary files are left behind")
}

func TestNothingHalfWritten(t *testing.T) {
	directory := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(directory, "kept"), []byte("old"), 0o644))
	require.Error(t, run.WriteFile(filepath.Join(directory, "missing", "file"), []byte("new")))
	require.NoError(t, os.Mkdir(filepath.Join(directory, "taken"), 0o777))
	require.Error(t, run.WriteFile(filepath.Join(directory, "taken"), []byte("new")))
	entries, err := os.ReadDir(directory)
	require.NoError(t, err)
	require.Len(t, entries, 2)
}

// POP's definitions, where every rank has a core of its own.
// What is computed before a message counts as onward if the last one between the two ranks went the same way, and as back
// if it went the other way or both ways.
func TestWaysOfMessages(t *testing.T) {
	r := analysistest.Run(3, 3, func(r *analysistest.Rank) {
		if r.Rank != 0 {
			return
		}
		r.Compute(ms)
		r.Send(1, 1, 8, ms) // nothing before
		r.Compute(2 * ms)
		r.Send(1, 1, 8, ms) // onward
		r.Send(1, 2, 8, ms) // nothing before
		r.Compute(4 * ms)
		r.Recv(2, 1, 8, ms) // back
		r.Send(1, 1, 8, ms) // at once
		r.Compute(8 * ms)
		r.Send(1, 1, 8, ms) // after an exchange: back
		r.OffCore(3 * ms)
		r.Compute(16 * ms)
		r.Send(3, 2, 8, ms) // onward
	})
	ways := map[int][2]uint64{}
	for _, p := range r.Peers {
		ways[p.To] = [2]uint64{p.OnwardNs, p.BackNs}
	}
	require.Equal(t, map[int][2]uint64{1: {2 * ms, 12 * ms}, 2: {16 * ms, 0}}, ways)
	r.Root().Walk(func(n *run.Node, _ int) bool {
		for _, p := range n.Peers {
			if n.Label() == "MPI_Recv" {
				require.Equal(t, []uint64{0, 4 * ms}, []uint64{p.OnwardNs, p.BackNs})
			}
		}
		return true
	})
}

func TestEfficiencies(t *testing.T) {
	rank := func(useful, mpi uint64) run.RankBalance {
		return run.RankBalance{Balance: run.Balance{Wall: useful + mpi, Useful: useful, MPI: mpi}}
	}
	e := run.Efficiencies([]run.RankBalance{rank(60, 40), rank(90, 10), rank(30, 70)})
	require.InDelta(t, 180./300, e.Parallel, 1e-12)
	require.InDelta(t, 180./270, e.LoadBalance, 1e-12)
	require.InDelta(t, 90./100, e.Communication, 1e-12)
	require.InDelta(t, e.Parallel, e.LoadBalance*e.Communication, 1e-12)
	require.True(t, e.Defined)
	require.Equal(t, 1., e.CoreAvailability)

	// Two ranks share a core: what they wait for it is nobody's, and equal work stays equal.
	shared := run.RankBalance{Balance: run.Balance{Wall: 100, Useful: 48, OffCore: 50, MPI: 2}}
	e = run.Efficiencies([]run.RankBalance{shared, shared})
	require.InDelta(t, 0.96, e.Parallel, 1e-12)
	require.InDelta(t, 1, e.LoadBalance, 1e-12)
	require.InDelta(t, 0.5, e.CoreAvailability, 1e-12)

	require.Equal(t, run.Efficiency{}, run.Efficiencies(nil))
}
