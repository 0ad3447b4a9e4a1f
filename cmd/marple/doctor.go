package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strings"

	"github.com/goccy/go-json"
	"github.com/spf13/cobra"

	"marple/analysis/words"
	"marple/cmd/launch"
)

// check is one line of the doctor's report. The field names are those of --format json.
type check struct {
	ID     string `json:"id"`
	OK     bool   `json:"ok"`
	Title  string `json:"title"`
	Detail string `json:"detail"`
}

func doctorCommand() *cobra.Command {
	c := &cobra.Command{Use: "doctor [PROGRAM]", Short: "Tell what Marple can measure here, and what would stop it",
		Long: `Loads Marple's library the way a measured program does, without running any program, and reports: the MPI
libraries found and whether they are recognised, the clock, counters, and limits that would stop the analysis
core. With PROGRAM, reports what that program would find: its own MPI library, its own limits.

With --machine it measures what models of several machines go by, and writes it to machine.json: the clock rate of busy
cores, double-precision operations, latency and bandwidth of each cache and of memory, all cores at once; and, with
a launcher, latency and bandwidth of messages between ranks 0 and 1, 2 and 3, and so on:

    marple doctor --machine -- mpirun -n 2
    marple exec --machine machine.json ...      runs carry it, for marple fit and marple select --machine

Without a launcher or an MPI the file says that messages were not measured. Measure an idle machine: what others
do there is in the figures.`,
	}
	as := format(c, "text", "json")
	measure := c.Flags().Bool("machine", false, "measure this machine, and write it to a file")
	out := c.Flags().StringP("output", "o", "machine.json", "with --machine: file to write to")
	name := c.Flags().String("name", "", "with --machine: name of it, the same for all nodes of a kind (default: the host's)")
	c.Args = func(c *cobra.Command, arguments []string) error {
		switch {
		case *measure && len(arguments) > 0 && c.ArgsLenAtDash() != 0:
			return usage("doctor: expected --machine, or --machine -- LAUNCHER, such as: marple doctor --machine -- mpirun -n 2")
		case !*measure && len(arguments) > 1:
			return usage("doctor: expected one program at most")
		case !*measure && (c.Flags().Changed("output") || c.Flags().Changed("name")):
			return usage("doctor: expected -o and --name together with --machine")
		}
		return nil
	}
	c.RunE = func(c *cobra.Command, arguments []string) error {
		if *measure {
			return measureMachine(c, *out, *name, arguments, *as)
		}
		library, err := launch.Library()
		if err != nil {
			return err
		}
		var checks []check
		if len(arguments) == 1 {
			checks, err = examine(library, nil, arguments[0])
		} else {
			checks, err = examineAll(library)
		}
		if err != nil {
			return err
		}
		return printChecks(c.OutOrStdout(), checks, *as)
	}
	return c
}

func printChecks(out io.Writer, checks []check, as string) error {
	if as == "json" {
		data, err := json.MarshalIndent(checks, "", " ")
		if err == nil {
			_, err = fmt.Fprintf(out, "%s\n", data)
		}
		return err
	}
	for _, c := range checks {
		mark := "ok"
		if !c.OK {
			mark = "NO"
		}
		first := fmt.Sprintf("%-3s %-20s ", mark, c.Title)
		for i, line := range words.Wrap(words.Clean(c.Detail), 80-len(first)) {
			if i > 0 {
				first = strings.Repeat(" ", len(first))
			}
			fmt.Fprintln(out, strings.TrimRight(first+line, " "))
		}
	}
	return nil
}

// examine starts a program with the library preloaded and told to report and stop before main.
func examine(library string, with []string, program string) ([]check, error) {
	path, err := exec.LookPath(program)
	if err != nil {
		return nil, fmt.Errorf("doctor: %w", err)
	}
	if why, advice := launch.Unloadable(path, library); why != "" {
		return []check{{"program", false, "program", program + " " + why + ": nothing can be preloaded into it; " + advice}}, nil
	}
	command := exec.Command(path)
	command.Env = append(os.Environ(), "LD_PRELOAD="+strings.Join(append([]string{library}, with...), ":"), "MARPLE_DOCTOR=1")
	var out, errors bytes.Buffer
	command.Stdout, command.Stderr = &out, &errors
	if err := command.Run(); err != nil {
		return nil, fmt.Errorf("doctor: %s: %w: %s", program, err, strings.TrimSpace(errors.String()))
	}
	var checks []check
	for _, line := range strings.Split(strings.TrimSpace(out.String()), "\n") {
		if fields := strings.SplitN(line, "\t", 4); len(fields) == 4 {
			checks = append(checks, check{fields[0], fields[1] == "ok", fields[2], fields[3]})
		}
	}
	if len(checks) == 0 {
		return nil, fmt.Errorf("doctor: %s does not load libmarple.so (set-user-id, or a script for a static shell?)", program)
	}
	return checks, nil
}

// examineAll looks at every MPI library of the system by preloading it into /bin/true.
func examineAll(library string) ([]check, error) {
	var checks []check
	for i, mpi := range libraries() {
		found, err := examine(library, []string{mpi}, "true")
		if err != nil {
			checks = append(checks, check{"mpi", false, "MPI", fmt.Sprintf("%s cannot be loaded: %v", mpi, err)})
			continue
		}
		for _, c := range found {
			if c.ID == "mpi" || i == 0 {
				checks = append(checks, c)
			}
		}
	}
	if len(checks) == 0 {
		return examine(library, nil, "true")
	}
	sort.SliceStable(checks, func(i, j int) bool { return checks[i].ID == "mpi" && checks[j].ID != "mpi" })
	return checks, nil
}

// libraries are the MPI libraries that the dynamic loader knows, and those on LD_LIBRARY_PATH.
func libraries() []string {
	seen := map[string]bool{}
	var list []string
	add := func(path string) {
		real, err := filepath.EvalSymlinks(path)
		if err == nil && !seen[real] {
			seen[real] = true
			list = append(list, real)
		}
	}
	isMPI := func(name string) bool {
		for _, prefix := range []string{"libmpi.so.", "libmpich.so.", "libmpi_abi.so."} {
			if strings.HasPrefix(name, prefix) {
				return true
			}
		}
		return false
	}
	for _, directory := range filepath.SplitList(os.Getenv("LD_LIBRARY_PATH")) {
		entries, _ := os.ReadDir(directory)
		for _, e := range entries {
			if isMPI(e.Name()) {
				add(filepath.Join(directory, e.Name()))
			}
		}
	}
	for _, ldconfig := range []string{"/sbin/ldconfig", "/usr/sbin/ldconfig", "ldconfig"} {
		out, err := exec.Command(ldconfig, "-p").Output()
		if err != nil {
			continue
		}
		for _, line := range strings.Split(string(out), "\n") {
			name, path, ok := strings.Cut(strings.TrimSpace(line), " => ")
			if ok && isMPI(name) {
				add(path)
			}
		}
		break
	}
	return list
}
