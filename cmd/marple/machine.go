package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"marple/analysis/machine"
	"marple/analysis/run"
	"marple/analysis/words"
)

// longestMessages is for how long ranks of one MPI library may exchange messages before they are taken for stuck.
const longestMessages = 2 * time.Minute

// measureMachine writes what models need to know of this machine.
func measureMachine(c *cobra.Command, path, name string, launcher []string, as string) error {
	program, err := machineProgram()
	if err != nil {
		return err
	}
	m := &machine.Machine{Schema: machine.Schema, Name: name, Processor: machine.Processor(), Measured: time.Now().UTC().Truncate(time.Second)}
	if name == "" {
		if m.Name, err = os.Hostname(); err != nil {
			return fmt.Errorf("doctor: %w; give it a --name", err)
		}
	}
	fmt.Fprintln(c.ErrOrStderr(), "marple: measuring cores and memory, all cores at once")
	out, err := exec.CommandContext(c.Context(), program).Output()
	if err != nil {
		return fmt.Errorf("doctor: %s: %w%s", program, err, complaint(err))
	}
	if err := m.Take(bytes.NewReader(out)); err != nil {
		return err
	}
	if why := measureMessages(c.Context(), m, program, launcher); why != "" {
		m.NotMeasured = append(m.NotMeasured, machine.Missing{What: "messages", Why: why})
	}
	if err := m.Check(); err != nil {
		return err
	}
	data, err := m.Encode()
	if err == nil {
		err = run.WriteFile(path, data)
	}
	if err != nil {
		return err
	}
	if as == "json" {
		_, err = c.OutOrStdout().Write(data)
	} else {
		_, err = fmt.Fprintf(c.OutOrStdout(), "%s%-12s %s\n", machineText(m), "file", path)
	}
	return err
}

func machineProgram() (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	if real, err := filepath.EvalSymlinks(self); err == nil {
		self = real
	}
	program := filepath.Join(filepath.Dir(self), machine.Program)
	if _, err := os.Stat(program); err != nil {
		return "", fmt.Errorf("doctor: there is no %s beside %s", machine.Program, self)
	}
	return program, nil
}

// measureMessages starts ranks with one MPI library after the other, until they know of each other; it says why there are no messages.
func measureMessages(ctx context.Context, m *machine.Machine, program string, launcher []string) (why string) {
	if len(launcher) == 0 {
		return "no launcher was given: marple doctor --machine -- mpirun -n 2"
	}
	candidates := libraries()
	if len(candidates) == 0 {
		return "there is no MPI library that the dynamic loader knows"
	}
	why = "the ranks did not know of each other: expected a launcher of two ranks and more, and its MPI library among those of marple doctor"
	for _, library := range candidates {
		ctx, cancel := context.WithTimeout(ctx, longestMessages)
		command := exec.CommandContext(ctx, launcher[0], append(launcher[1:len(launcher):len(launcher)], program, library)...)
		command.WaitDelay = 5 * time.Second
		out, err := command.Output()
		cancel()
		for _, line := range strings.Split(string(out), "\n") {
			if strings.HasPrefix(line, "messages\t") && m.Take(strings.NewReader(line)) == nil {
				return ""
			}
		}
		if err != nil {
			why = fmt.Sprintf("%s: %v%s", strings.Join(launcher, " "), err, complaint(err))
		}
	}
	return why
}

// complaint is the last line of what a command has said of its failure.
func complaint(err error) string {
	failed, ok := err.(*exec.ExitError)
	if !ok {
		return ""
	}
	text := strings.TrimSpace(string(failed.Stderr))
	if text = words.Clean(text[strings.LastIndexByte(text, '\n')+1:]); text == "" {
		return ""
	}
	return ": " + text
}

func machineText(m *machine.Machine) string {
	var b strings.Builder
	line := func(name, format string, arguments ...any) {
		for i, text := range words.Wrap(words.Clean(fmt.Sprintf(format, arguments...)), 67) {
			if i > 0 {
				name = ""
			}
			fmt.Fprintf(&b, "%-12s %s\n", words.Clean(name), text)
		}
	}
	line("machine", "%s: %s", m.Name, m.Processor)
	line("clock", "%.3g GHz, with %s busy", m.Clock/1e9, words.Count(uint64(m.Cores), "core", "cores"))
	line("flops", "%.3g Gflop/s a core, in double precision", m.Flops/1e9)
	for _, l := range m.Memory {
		size := ""
		if l.Bytes > 0 {
			size = words.Size(float64(l.Bytes)) + ": "
		}
		line(l.Name, "%s%s, %.3g GB/s a core", size, words.Duration(l.Latency), l.Bandwidth/1e9)
	}
	if x := m.Messages; x != nil {
		line("messages", "%s, %.3g GB/s between neighbours of %d ranks on %s (%s)", words.Duration(x.Latency), x.Bandwidth/1e9, x.Ranks, x.Between, x.Library)
	}
	for _, n := range m.NotMeasured {
		line("not measured", "%s: %s", n.What, n.Why)
	}
	return b.String()
}
