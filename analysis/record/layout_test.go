package record

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Both sides of the shared memory must agree on every offset. Field names differ only in style, so the C
// names are derived; the few that were shortened are listed.
func TestLayoutMatchesC(t *testing.T) {
	shortened := map[string]string{
		"mrl_thread.wallNs": "cpu_wall_ns", "mrl_thread.delay": "delay_ns", "mrl_header.CPUs": "cpus", "mrl_header.OthersCPUNs": "others_cpu_ns", "mrl_header.PID": "pid", "mrl_header.PIDSpace": "pid_space",
		"mrl_header.MPIName": "mpi_name", "mrl_module.BuildID": "build_id", "mrl_module.BuildIDLen": "build_id_len",
		"mrl_comm.ID": "id", "mrl_thread.osTID": "os_tid",
	}
	constants := map[string]int{
		"sizeof(struct mrl_header)": int(reflect.TypeFor[Header]().Size()), "sizeof(struct mrl_node)": 32, "sizeof(struct mrl_comm)": 64,
		"sizeof(struct mrl_module)": 64, "sizeof(struct mrl_run)": 12, "sizeof(struct mrl_instant)": 24,
		"MRL_VERSION": version, "MRL_STRINGS_AT": stringsAt, "MRL_NODES_AT": nodesAt, "MRL_COMMS_AT": commsAt, "MRL_MODULES_AT": modulesAt,
		"MRL_MEMBERS_AT": membersAt, "MRL_LOST_AT": lostAt, "MRL_FILES_AT": filesAt, "MRL_FILES": filesMost, "sizeof(struct mrl_file)": fileSize, "MRL_IO_KINDS": FileKinds,
		"MRL_IO_METADATA": FileMetadata, "MRL_IO_MPI_WRITE": FileMPIWrite, "MRL_IO_MPI_WRITE_ALL": FileMPIWriteAll, "MRL_THREADS_AT": threadsAt, "MRL_RECORDS": records, "MRL_UNDO": undoMax,
		"MRL_ENTRIES": entriesMax, "MRL_RING_AT": ringAt, "MRL_UNDO_AT": undoAt, "MRL_ENTRIES_AT": entriesAt, "MRL_THREAD_SPAN": ThreadSpan,
		"MRL_ENTRY_SIZE": entrySize, "MRL_THREADS_MAX": threadsMax, "MRL_OVERFLOW_NODE": overflowNode, "MRL_EDGE_ENTER": int(edgeEnter), "MRL_OP_COUNT": int(OpCount),
		"MRL_OP_SENDRECV": int(OpSendrecv), "MRL_OP_BARRIER": int(OpBarrier), "MRL_OP_NEIGHBOR": int(OpNeighbor), "MRL_OP_FENCE": int(OpFence),
		"MRL_OP_FILE_READ": int(OpFileRead), "MRL_OP_FINALIZE": int(OpFinalize), "MRL_OP_TEST": int(OpTest), "MRL_OP_RECV": int(OpRecv),
		"MRL_BEFORE": kindBefore, "MRL_INSIDE": kindInside, "MRL_WIDE": kindWide, "MRL_CALL": kindCall, "MRL_ENTER": kindEnter, "MRL_EXIT": kindExit,
		"MRL_RECEIVED": kindReceived, "MRL_POSTED": kindPosted, "MRL_COMPLETED": kindCompleted, "MRL_BEGIN": kindBegin, "MRL_LEAF": kindLeaf, "MRL_ASIDE": kindAside, "MRL_VALUES": kindValues, "MRL_COUNTS": kindCounts, "MRL_COUNTERS": CountersMost,
		"MRL_COLLECTIVE": flagCollective, "MRL_FAILED": flagFailed, "MRL_STARTED": flagStarted, "MRL_COMPLETE": flagComplete, "MRL_HIT": flagHit,
		"MRL_IS_SEND": flagIsSend, "MRL_BOTH": flagBoth, "MRL_CANCELLED": flagCancelled, "MRL_NONBLOCKING": int(Nonblocking), "MRL_PERSISTENT": int(Persistent),
		"MRL_NODE_CUT": int(NodeCut), "MRL_NODE_FAMILIES": int(NodeFamilies), "MRL_NODE_ATOMIC": int(NodeAtomic), "MRL_NODE_METADATA": int(NodeMetadata), "MRL_ATOMIC": kindAtomic, "MRL_SAMPLED": kindSampled, "MRL_ELSEWHERE": flagElsewhere, "MRL_PLACES": placesMost,
		"MRL_NODE_PLACE": int(NodePlace), "MRL_NODE_EXACTLY": int(NodeExactly), "MRL_NODE_GROUPS": int(NodeGroups),
		"MRL_NODE_MPI": int(NodeMPI), "MRL_COMM_INTER": CommInter, "MRL_COMM_MEMBERS": CommMembers,
		"MRL_ABORTED": Aborted, "MRL_FATAL": Fatal, "MRL_CLOCK_EXTERNAL": ClockExternal, "MRL_ROOT": RootPeer, "MRL_CORE_BROKEN": int(Broken), "MRL_CORE_MORE_ENTRIES": int(MoreEntries),
	}
	structs := map[string]reflect.Type{
		"mrl_header": reflect.TypeFor[Header](), "mrl_thread": reflect.TypeFor[thread](), "mrl_node": reflect.TypeFor[Node](),
		"mrl_comm": reflect.TypeFor[Comm](), "mrl_module": reflect.TypeFor[Module](), "mrl_run": reflect.TypeFor[Run](),
		"mrl_instant": reflect.TypeFor[Instant](), "mrl_offset": reflect.TypeFor[Offset](), "mrl_record": reflect.TypeFor[record](), "mrl_both": reflect.TypeFor[both](),
		"mrl_file": reflect.TypeFor[File](), "mrl_traffic": reflect.TypeFor[Traffic](),
	}
	for name, typ := range structs {
		for i := range typ.NumField() {
			f := typ.Field(i)
			if f.Name == "_" || f.Name == "what" {
				continue
			}
			c := snake(f.Name)
			if s, ok := shortened[name+"."+f.Name]; ok {
				c = s
			}
			constants[fmt.Sprintf("offsetof(struct %s, %s)", name, c)] = int(f.Offset)
			constants[fmt.Sprintf("sizeof(((struct %s *)0)->%s)", name, c)] = int(f.Type.Size())
		}
	}
	constants["offsetof(struct mrl_record, path)"] = int(reflect.TypeFor[record]().Field(5).Offset)
	constants["offsetof(struct mrl_both, path)"] = int(reflect.TypeFor[both]().Field(7).Offset)

	var program strings.Builder
	program.WriteString("#include \"shim.h\"\n#include \"core.h\"\n#include <stdio.h>\nint main(void)\n{\n")
	for c := range constants {
		fmt.Fprintf(&program, "    printf(\"%%s\\t%%lld\\n\", %q, (long long)(%s));\n", c, c)
	}
	program.WriteString("    return 0;\n}\n")
	dir := t.TempDir()
	source := filepath.Join(dir, "layout.c")
	require.NoError(t, os.WriteFile(source, []byte(program.String()), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "settings.gen.h"), nil, 0o600))
	out, err := exec.Command("gcc", "-std=gnu11", "-D_GNU_SOURCE", "-I../../cshim", "-I"+dir, source, "-o", filepath.Join(dir, "layout")).CombinedOutput()
	require.NoError(t, err, string(out))
	out, err = exec.Command(filepath.Join(dir, "layout")).Output()
	require.NoError(t, err)
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	require.Len(t, lines, len(constants))
	for _, line := range lines {
		name, value, _ := strings.Cut(line, "\t")
		require.Equal(t, fmt.Sprint(constants[name]), value, name)
	}
}

func snake(name string) string {
	var b strings.Builder
	for i, r := range name {
		if r >= 'A' && r <= 'Z' {
			if i > 0 {
				b.WriteByte('_')
			}
			r += 'a' - 'A'
		}
		b.WriteRune(r)
	}
	return b.String()
}
