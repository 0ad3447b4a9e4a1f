// Every measured function, called at least once: calls, bytes, messages, communicators and peers must be
// exactly those that the program (test/apps/everything.c) has kept account of itself.
package e2e

import (
	"marple/test/harness"

	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"marple/analysis/run"
)

const everythingRanks = 4

// figures are what is compared of a row; which of them there are depends on the table.
type figures map[string]uint64

func (f figures) add(names []string, values []string) {
	for i, name := range names {
		n, err := strconv.ParseUint(values[i], 10, 64)
		if err != nil {
			panic(err)
		}
		f[name] += n
	}
}

// account is what was expected or found: functions and communicators by name, pairs of ranks as "0 to 1".
type account struct {
	functions, communicators, peers map[string]figures
	members                         map[string]string // of communicators
}

func newAccount() account {
	return account{map[string]figures{}, map[string]figures{}, map[string]figures{}, map[string]string{}}
}

func row(table map[string]figures, name string) figures {
	if table[name] == nil {
		table[name] = figures{}
	}
	return table[name]
}

// expected adds up what the ranks have written down.
func expected(t testing.TB, directory string, ranks int) account {
	t.Helper()
	a := newAccount()
	for rank := range ranks {
		text, err := os.ReadFile(filepath.Join(directory, fmt.Sprintf("expected-%d", rank)))
		require.NoError(t, err)
		for _, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
			fields := strings.Split(line, "\t")
			name, values := fields[1], fields[2:]
			switch fields[0] {
			case "function":
				row(a.functions, name).add([]string{"calls", "out", "in", "hits", "failed", "messages"}, values)
			case "communicator":
				row(a.communicators, name).add([]string{"calls", "out", "in"}, values)
				if values[4] != "-" {
					a.members[name] = values[4]
				}
			case "peer":
				row(a.peers, fmt.Sprintf("%d to %s", rank, name)).add(
					[]string{"sent", "sent bytes", "received", "received bytes", "puts", "put bytes", "gets", "got bytes"}, values)
			}
		}
	}
	for name, f := range a.peers { // ranks that exchanged nothing are not listed
		if f["sent"]+f["received"]+f["puts"]+f["gets"] == 0 {
			delete(a.peers, name)
		}
	}
	return a
}

// found puts a run in the same form.
func found(r *run.Run) account {
	a := newAccount()
	for _, f := range r.Functions {
		received := uint64(0)
		if f.Hits == 0 { // of tests these are the hits
			for _, s := range f.Sizes {
				received += s.Messages
			}
		}
		a.functions[f.Name] = figures{"calls": f.Calls, "out": f.Out, "in": f.In, "hits": f.Hits, "failed": f.Fails, "messages": received}
	}
	for _, c := range r.Communicators {
		f := row(a.communicators, c.Name)
		f["calls"] += c.Calls
		f["out"] += c.Out
		f["in"] += c.In
		if !c.Inter && c.Members != "" {
			a.members[c.Name] = listed(c.Members)
		}
	}
	for _, p := range r.Peers {
		a.peers[fmt.Sprintf("%d to %d", p.Rank, p.To)] = figures{"sent": p.Sent, "sent bytes": p.SentBytes, "received": p.Received,
			"received bytes": p.ReceivedBytes, "puts": p.Puts, "put bytes": p.PutBytes, "gets": p.Gets, "got bytes": p.GetBytes}
	}
	return a
}

// listed writes 0-4:2,1 as 0,2,4,1.
func listed(members string) string {
	var ranks []string
	for _, part := range strings.Split(members, ",") {
		var first, last, stride int
		if n, _ := fmt.Sscanf(part, "%d-%d:%d", &first, &last, &stride); n < 3 {
			stride = 1
			if n < 2 {
				last = first
			}
		}
		for i := first; ; i += stride {
			ranks = append(ranks, strconv.Itoa(i))
			if i == last || stride == 0 {
				break
			}
		}
	}
	return strings.Join(ranks, ",")
}

// differences lists where two accounts do not agree.
func differences(what string, want, got map[string]figures) []string {
	var list []string
	for name, w := range want {
		for figure, n := range w {
			if g := got[name][figure]; g != n {
				list = append(list, fmt.Sprintf("%s %s: %s: expected %d, found %d", what, name, figure, n, g))
			}
		}
	}
	for name := range got {
		if want[name] == nil {
			list = append(list, fmt.Sprintf("%s %s: not expected", what, name))
		}
	}
	slices.Sort(list)
	return list
}

// Functions that the program does not call, and why.
var notCalled = map[string]string{
	"MPI_Init":                "made before anything is recorded",
	"MPI_Init_thread":         "another program's way in (TestThreadLevels)",
	"MPI_Abort":               "ends the run (TestRecoverAfterAbort)",
	"MPI_Pcontrol":            "is not recorded as a call (TestTheSameRunEverywhere)",
	"MPI_Session_init":        "begins a measurement, or is not recorded as a call (TestSessions)",
	"MPI_Session_finalize":    "ends it (TestSessions)",
	"MPI_Comm_set_name":       "is not recorded as a call; every communicator here is named with it",
	"MPI_Comm_spawn":          "dynamic processes (TestDynamicProcesses)",
	"MPI_Comm_spawn_multiple": "dynamic processes",
	"MPI_Comm_accept":         "dynamic processes",
	"MPI_Comm_connect":        "dynamic processes",
	"MPI_Comm_join":           "dynamic processes",
	"MPI_Open_port":           "dynamic processes",
	"MPI_Close_port":          "dynamic processes",
	"MPI_Publish_name":        "needs a name server",
	"MPI_Unpublish_name":      "needs a name server",
	"MPI_Lookup_name":         "needs a name server",
}

func TestEveryFunction(t *testing.T) {
	t.Parallel()
	harness.Each(t, func(t *testing.T, mpi *harness.Library) {
		program := everythingWith(mpi, t)
		directory := t.TempDir()
		c, account := mpi.Counting(t, harness.Command{})
		measured, r := mpi.Measured(t, c, everythingRanks, []string{program, directory})
		require.Zero(t, r.Code, r.Stderr)
		want, got := expected(t, directory, everythingRanks), found(measured)

		var left []string
		for name := range harness.Declared(mpi, t) {
			_, wrapped := harness.ReadTable(t).Wrapped[name]
			if _, known := notCalled[name]; wrapped && !known && want.functions[name]["calls"] == 0 {
				left = append(left, name)
			}
		}
		slices.Sort(left)
		assert.Empty(t, left, "everything.c does not call %s", strings.Join(left, " "))

		wrong := slices.Concat(differences("function", want.functions, got.functions),
			differences("communicator", want.communicators, got.communicators), differences("peers", want.peers, got.peers))
		assert.Empty(t, wrong, strings.Join(wrong, "\n"))
		assert.Equal(t, want.members, got.members, "members of communicators")
		assert.Equal(t, account().ToRecord(harness.ReadTable(t)), harness.Recorded(t, measured), "an independent counter")
		for _, note := range harness.NotSeen(measured) { // messages are all matched; wait states do not follow neighbourhoods
			assert.Equal(t, "collectives-uncovered", note.ID, note.Text)
		}
	})
}

func everythingWith(m *harness.Library, t testing.TB) string {
	t.Helper()
	parts, err := filepath.Glob(harness.Apps("everything/*.c"))
	require.NoError(t, err)
	require.NotEmpty(t, parts)
	return m.Compile(t, "everything", append(parts, "-O0", "-Wno-maybe-uninitialized")...) // much to compile, nothing to compute
}
