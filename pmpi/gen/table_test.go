package main

import (
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const (
	functions = "../functions.txt"
	analysis  = "../../analysis/mpi/table.go"
)

// Every function of the standard is measured, or left alone for a reason.
func TestTheStandardIsComplete(t *testing.T) {
	table, err := ReadTable(functions)
	require.NoError(t, err)
	measured := map[string]bool{}
	for _, f := range table.Functions {
		measured[f.Name] = true
	}
	text, err := os.ReadFile("testdata/mpi-5.0.txt")
	require.NoError(t, err)
	for _, name := range strings.Fields(string(text)) {
		left := 0
		for _, l := range table.Left {
			if match, _ := path.Match(l.Pattern, name); match {
				left = 1
			}
		}
		if measured[name] {
			left++
		}
		assert.Equal(t, 1, left, "%s is neither measured nor left alone, or both", name)
	}
}

func TestAnalysisReadsThisTable(t *testing.T) {
	table, err := ReadTable(functions)
	require.NoError(t, err)
	text, err := os.ReadFile(analysis)
	require.NoError(t, err)
	assert.Equal(t, string(goTable(table)), string(text), "write it anew: go generate ./analysis/mpi")
}

// A new collective operation is one row: whoever forgets what others must know of it is told.
func TestAnInventedCollective(t *testing.T) {
	text, err := os.ReadFile(functions)
	require.NoError(t, err)
	const row = "n_to_n  MPI_Allsort(sendbuf, recvbuf, count, datatype, comm)  +c +i +init  out=count*datatype in=count*datatype"
	for end, want := range map[string]string{
		"":                         "needs otf2=",
		"  otf2=many":              "needs otf2=",
		"  otf2=none waits=anyone": "waits=anyone: expected one of receiver, sender",
		"  otf2=none colour=blue":  `unknown variant or key "colour=blue"`,
		"  otf2=none":              "",
	} {
		file := filepath.Join(t.TempDir(), "functions.txt")
		require.NoError(t, os.WriteFile(file, []byte(string(text)+"section more\n"+row+end+"\n"), 0o666))
		table, err := ReadTable(file)
		if want != "" {
			assert.ErrorContains(t, err, want)
			continue
		}
		require.NoError(t, err)
		source := string(goTable(table))
		for _, name := range []string{"MPI_Allsort", "MPI_Allsort_c", "MPI_Iallsort", "MPI_Iallsort_c", "MPI_Allsort_init", "MPI_Allsort_init_c"} {
			assert.Contains(t, source, `{Name: "`+name+`", Op: record.OpNToN, Class: Class{Waits: Members, Pattern: "wait-at-nxn"}`)
			assert.Contains(t, wrappers(table), "MRL_EXPORT int "+name+"(")
			assert.Contains(t, facts(table), `{"`+name+`", MRL_OP_N_TO_N, `)
			assert.Contains(t, fortranWrappers(table), "MRL_FN_"+name)
		}
	}
}
