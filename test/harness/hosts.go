package harness

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Hosts are namespaces of this machine that stand for hosts: with names, networks, mounts and clocks of their own. All see the same
// files, but for those below Local, where each has a disk of its own. (Process ids are the machine's: nobody could go from one
// namespace of processes into another, as ssh does.)
type Hosts struct {
	Local string

	t     testing.TB
	place string // where what belongs to them lies
	apart time.Duration
	wire  *exec.Cmd
	inits []*exec.Cmd // by host; each ends with its first process
}

// NewHosts makes hosts that are called host0, host1 and so on, and can be reached under 10.77.0.1, 10.77.0.2 and so on. Each one's clock
// is ahead of that of the one before. They end with the test. Where they cannot be made it is skipped, but with CI=1.
func NewHosts(t testing.TB, n int, apart time.Duration) *Hosts {
	t.Helper()
	may := exec.Command("unshare", "--uts", "--mount", "--net", "--ipc", "--time", "--monotonic", "1", "--fork", "ip", "link", "show")
	if out, err := may.CombinedOutput(); err != nil {
		if os.Getenv("CI") == "1" {
			t.Fatalf("no namespaces here, and CI=1: %v: %s", err, out)
		}
		t.Skipf("no namespaces here: %v: %s", err, out)
	}
	h := &Hosts{t: t, place: t.TempDir(), apart: apart, inits: make([]*exec.Cmd, n)}
	h.Local = filepath.Join(h.place, "local")
	require.NoError(t, os.Mkdir(h.Local, 0o777))
	h.wire = h.begin("wire", "ip link add wire type bridge; ip link set wire up", "--net")
	for i := range n {
		require.NoError(t, os.Mkdir(h.Disk(i), 0o777))
		h.Start(i)
	}
	h.script("on", `host=$1; shift
exec nsenter --target "$(cat `+h.place+`/host$host)" --uts --mount --net --ipc --time --wd="$PWD" "$@"`)
	h.script("ssh", `while :; do case $1 in -*) shift;; *) break;; esac; done
case $1 in 10.*) host=$((${1##*.} - 1));; *) host=${1##host};; esac
shift
exec `+h.place+`/on "$host" sh -c "$*"`)
	h.script("spread", `size=${MOCKMPI##*size=}
exec `+h.place+`/on $((PMIX_RANK * `+fmt.Sprint(n)+` / ${size%% *})) "$@"`)
	return h
}

func (h *Hosts) script(name, text string) {
	h.t.Helper()
	require.NoError(h.t, os.WriteFile(filepath.Join(h.place, name), []byte("#!/bin/sh -e\n"+text+"\n"), 0o777))
}

// begin starts a process in namespaces of its own, whose number is in a file as soon as the script has run there.
func (h *Hosts) begin(name, script string, namespaces ...string) *exec.Cmd {
	h.t.Helper()
	file := filepath.Join(h.place, name)
	line := append(namespaces, "--kill-child", "--fork", "sh", "-ec", script+"; : > "+file+".ready; exec sleep infinity")
	command := exec.Command("unshare", line...)
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	var said strings.Builder
	command.Stderr = &said
	require.NoError(h.t, command.Start())
	h.t.Cleanup(func() { h.end(command) })
	for begun := time.Now(); ; time.Sleep(time.Millisecond) {
		if _, err := os.Stat(file + ".ready"); err == nil {
			break
		}
		require.Less(h.t, time.Since(begun), Patience, said.String())
	}
	require.NoError(h.t, os.Remove(file+".ready"))
	child, err := os.ReadFile(fmt.Sprintf("/proc/%[1]d/task/%[1]d/children", command.Process.Pid))
	require.NoError(h.t, err)
	require.NoError(h.t, os.WriteFile(file, []byte(strings.TrimSpace(string(child))), 0o666))
	return command
}

func (h *Hosts) end(command *exec.Cmd) {
	if command.ProcessState == nil {
		_ = command.Process.Kill() // and with it its child
		_ = command.Wait()
	}
}

// Start starts a host, again if it has been killed: with the disk that it had.
func (h *Hosts) Start(i int) {
	h.t.Helper()
	name, port := fmt.Sprintf("host%d", i), fmt.Sprintf("port%d", i)
	script := fmt.Sprintf(`hostname %s; mount --make-rprivate /; mount --bind %s %s; mount -t tmpfs shm /dev/shm
ip link set lo up`, name, h.Disk(i), h.Local)
	clock := fmt.Sprint(int64(h.apart.Seconds() * float64(i)))
	h.inits[i] = h.begin(name, script, "--uts", "--mount", "--net", "--ipc", "--time", "--monotonic", clock)
	init, err := os.ReadFile(filepath.Join(h.place, name))
	require.NoError(h.t, err)
	wire, err := os.ReadFile(filepath.Join(h.place, "wire"))
	require.NoError(h.t, err)
	out, err := exec.Command("nsenter", "--target", string(wire), "--net", "sh", "-ec", fmt.Sprintf(
		`ip link del %[1]s 2>/dev/null || true
ip link add %[1]s type veth peer name eth0 netns %[2]s; ip link set %[1]s master wire up
nsenter --target %[2]s --net sh -ec "ip addr add %[3]s/24 dev eth0; ip link set eth0 up"`, port, init, h.Address(i))).CombinedOutput()
	require.NoError(h.t, err, "%s", out)
}

// Kill ends all processes of a host.
func (h *Hosts) Kill(i int) {
	h.t.Helper()
	init, err := os.ReadFile(filepath.Join(h.place, fmt.Sprintf("host%d", i)))
	require.NoError(h.t, err)
	host, err := os.Readlink(filepath.Join("/proc", string(init), "ns/uts"))
	require.NoError(h.t, err)
	for more := true; more; {
		more = false
		for _, process := range Entries(h.t, "/proc") {
			id, err := strconv.Atoi(process)
			if of, _ := os.Readlink(filepath.Join("/proc", process, "ns/uts")); err == nil && of == host {
				more = syscall.Kill(id, syscall.SIGKILL) == nil || more
			}
		}
	}
	_ = h.inits[i].Wait()
}

// Disk is where a host's disk can be seen from outside.
func (h *Hosts) Disk(i int) string { return filepath.Join(h.place, fmt.Sprintf("disk%d", i)) }

// Address is a host's.
func (h *Hosts) Address(i int) string { return fmt.Sprintf("10.77.0.%d", i+1) }

// On is a command line that is run on a host.
func (h *Hosts) On(i int, line ...string) []string {
	return append([]string{filepath.Join(h.place, "on"), fmt.Sprint(i)}, line...)
}

// Shell is a directory whose ssh leads to these hosts.
func (h *Hosts) Shell() string { return h.place }

// Launch starts ranks in blocks on the hosts, the same number on each.
func (h *Hosts) Launch(m *Library, n int, options []string, program ...string) []string {
	ssh := filepath.Join(h.place, "ssh")
	var list []string
	for i := range h.inits {
		list = append(list, fmt.Sprintf("%s:%d", h.Address(i), n/len(h.inits)))
	}
	on := *m
	switch m {
	case Mock:
		on.Mpirun = append(append([]string{}, m.Mpirun...), "--hosts", fmt.Sprint(len(h.inits)))
		on.Mpirun = append(on.Mpirun, options...)
		return on.Launch(n, append([]string{filepath.Join(h.place, "spread")}, program...)...)
	case OpenMPI:
		on.Mpirun = []string{m.Mpirun[0], "--host", strings.Join(list, ","), "--mca", "plm_rsh_agent", ssh, "--mca", "plm_rsh_no_tree_spawn", "1",
			"--mca", "btl", "tcp,self", "--mca", "btl_tcp_if_include", "10.77.0.0/24", "--mca", "oob_tcp_if_include", "10.77.0.0/24"}
	case Mpich:
		on.Mpirun = []string{m.Mpirun[0], "-hosts", strings.Join(list, ","), "-bootstrap", "rsh", "-bootstrap-exec", ssh, "-iface", "eth0"}
	}
	on.Mpirun = append(on.Mpirun, options...)
	return h.On(0, on.Launch(n, program...)...)
}
