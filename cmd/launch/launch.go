// Package launch is marple exec: it replaces this process by a program that loads libmarple.so first of all.
//
// Every rank of a job starts with it, so it may use little: the tables of settings and of words. What reads files of
// settings or of knowledge is handed in.
package launch

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"marple/analysis/setting"
	"marple/analysis/words"
)

// Name is the command's.
const Name = "exec"

// Command is marple exec. config reads a file of settings, and knowledge checks a directory of models; both only where
// there is one.
func Command(config func(path string) (map[string]string, error), knowledge func(directory string) error) *cobra.Command {
	c := &cobra.Command{
		Use:   Name + " [flags] [--] PROGRAM [ARGUMENTS]",
		Short: "Run a program under measurement; put it between mpirun and the program",
		Long: `Runs PROGRAM with Marple preloaded. Use it under any launcher:

    mpirun -n 8 marple exec ./app input.dat
    srun marple exec --out run1 -- ./app -n 100

The program's results, exit code and output stay what they are. When it calls MPI_Finalize, exit or MPI_Abort, one
rank prints the report on stderr, and a run directory keeps the details. After a crash or a kill, marple recover
makes the report. Where nothing could be measured, one line on stderr says why when the program ends, or before it
starts if that is known by then (it is statically linked, say).

Every flag is also a variable (--keep-raw is MARPLE_KEEP_RAW) and a key of a YAML file given with --config
or MARPLE_CONFIG (keep-raw: on). A flag counts more than a variable, a variable more than the file.`,
		Args: func(_ *cobra.Command, arguments []string) error {
			if len(arguments) == 0 {
				return Usage("exec: which program? expected: marple exec [flags] [--] PROGRAM [ARGUMENTS]")
			}
			return nil
		},
	}
	c.CompletionOptions.DisableDefaultCmd = true // where it is the root: a program may have that name
	c.Flags().SetInterspersed(false)             // what follows the program is the program's
	values := map[string]*string{}
	for _, s := range setting.Table {
		values[s.Key] = c.Flags().String(s.Key, s.Preset, s.Doc+expected(s))
		if len(s.Choices) > 0 {
			_ = c.RegisterFlagCompletionFunc(s.Key, cobra.FixedCompletions(s.Choices, cobra.ShellCompDirectiveNoFileComp))
		}
	}
	c.Flags().StringVar(values["params"], "param", "", "") // as marple fit calls it
	if err := c.Flags().MarkHidden("param"); err != nil {
		panic(err)
	}
	file := c.Flags().String("config", "", "YAML file of settings")
	c.RunE = func(c *cobra.Command, arguments []string) error {
		if *file == "" {
			*file = os.Getenv("MARPLE_CONFIG")
		}
		set := map[string]string{}
		if *file != "" {
			var err error
			if set, err = config(*file); err != nil {
				return UsageError{err}
			}
		}
		if err := choose(c, set, values); err != nil {
			return err
		}
		if err := anchor(set, knowledge); err != nil {
			return err
		}
		sayMisspelt(os.Environ())
		return replace(arguments, set)
	}
	return c
}

// choose puts variables above the file's settings, and flags above both.
func choose(c *cobra.Command, set map[string]string, flags map[string]*string) error {
	for _, s := range setting.Table {
		if v, ok := os.LookupEnv(s.Variable()); ok {
			set[s.Key] = v
		}
		if c.Flags().Changed(s.Key) || s.Key == "params" && c.Flags().Changed("param") {
			set[s.Key] = *flags[s.Key]
			if err := s.Check(set[s.Key]); err != nil {
				return Usage("--%v", err)
			}
		}
	}
	// In a job that the site measures: whoever writes marple exec there wants to see the report.
	if strings.Contains(os.Getenv("LD_PRELOAD"), "/libmarple.so") && !c.Flags().Changed("site") {
		set["site"] = "0"
	}
	return nil
}

// anchor makes paths absolute, since the program may change its directory, and looks at a directory of knowledge while there is time to mend it.
func anchor(set map[string]string, knowledge func(directory string) error) error {
	if own := set["knowledge"]; own != "" {
		if err := knowledge(own); err != nil {
			return Usage("--knowledge: %v", err)
		}
	}
	for _, key := range []string{"families", "machine", "knowledge"} {
		if path, err := filepath.Abs(set[key]); err == nil && set[key] != "" {
			set[key] = path
		}
	}
	return nil
}

// variables are those that settings have, and those of the commands.
func variables() []string {
	list := []string{"MARPLE_CONFIG", askedVariable, setting.Database}
	for _, s := range setting.Table {
		list = append(list, s.Variable())
	}
	return list
}

// sayMisspelt names variables that are nearly one of Marple's; others that begin like them may be a site's.
func sayMisspelt(environment []string) {
	known := variables()
	all := &cobra.Command{SuggestionsMinimumDistance: 2} // which finds commands by names that are nearly the same
	for _, v := range known {
		all.AddCommand(&cobra.Command{Use: v, Run: func(*cobra.Command, []string) {}})
	}
	for _, v := range environment {
		name, _, _ := strings.Cut(v, "=")
		if !strings.HasPrefix(name, "MARPLE_") || slices.Contains(known, name) {
			continue
		}
		if similar := all.SuggestionsFor(name); len(similar) > 0 {
			say("%s is no setting of Marple's%s", words.Clean(name), Meant(similar))
		}
	}
}

func expected(s setting.Setting) string {
	if s.Kind == setting.Text {
		return ""
	}
	return " (" + s.Expected() + ")"
}

// replace replaces this process by the program.
func replace(arguments []string, set map[string]string) error {
	path, err := exec.LookPath(arguments[0])
	if err != nil && !errors.Is(err, exec.ErrDot) {
		return fmt.Errorf("exec: %w", err)
	}
	environment := os.Environ()
	for key, value := range set {
		s, _ := setting.Lookup(key)
		environment = SetVariable(environment, s.Variable(), value)
	}
	environment = SetVariable(environment, askedVariable, asks(arguments[0], set["enable"] != "off"))
	if library, err := Library(); err != nil {
		// A job that has waited for its turn is worth more than its measurement.
		say("%v; %s runs unmeasured", err, arguments[0])
	} else {
		p := look(path, library)
		if p.why != "" {
			say("%s %s: nothing can be preloaded into it, and it runs unmeasured; %s", arguments[0], p.why, p.advice)
		}
		if p.mute {
			say("%s is a Go program and not linked with MPI: if no report follows, nothing was measured", arguments[0])
		}
		if !p.foreign {
			environment = tools(Preload(environment, library, besides(library, set)...), library)
		}
	}
	err = syscall.Exec(path, arguments, environment)
	if errors.Is(err, syscall.ENOEXEC) {
		err = fmt.Errorf("%w; a script needs #! and its interpreter in its first line", err)
	}
	return fmt.Errorf("exec: %s: %w", path, err)
}

// besides are the libraries that settings ask for beside the one that measures.
func besides(library string, set map[string]string) []string {
	if set["io"] != "on" || set["enable"] == "off" {
		return nil
	}
	beside := filepath.Join(filepath.Dir(library), "libmarple-io.so")
	if _, err := os.Stat(beside); err != nil {
		say("files are not counted: %v", err)
		return nil
	}
	return []string{beside}
}

// say prints a line, on one rank if a launcher tells ranks apart.
func say(format string, arguments ...any) {
	if isFirst(ranks) {
		fmt.Fprintf(os.Stderr, "marple: "+format+"\n", arguments...)
	}
}

// Launchers tell a process its rank before MPI_Init does, and which of its host's it is. As in cshim/say.c.
var (
	ranks      = []string{"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID", "MV2_COMM_WORLD_RANK", "MPI_LOCALRANKID"}
	localRanks = append([]string{"OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "SLURM_LOCALID", "MV2_COMM_WORLD_LOCAL_RANK"}, ranks...)
)

// isFirst tells whether the first of these variables that there is says 0; yes, if there is none.
func isFirst(variables []string) bool {
	for _, name := range variables {
		if rank, ok := os.LookupEnv(name); ok {
			return rank == "0"
		}
	}
	return true
}

// tools has Kokkos and NVTX tell the library of what programs do, unless another tool of theirs is wanted. Kokkos' variable is
// a list.
func tools(environment []string, library string) []string {
	if os.Getenv("KOKKOS_TOOLS_LIBS") == "" && os.Getenv("KOKKOS_PROFILE_LIBRARY") == "" && !strings.ContainsAny(library, ";:") {
		environment = SetVariable(environment, "KOKKOS_TOOLS_LIBS", library)
	}
	if os.Getenv("NVTX_INJECTION64_PATH") == "" {
		environment = SetVariable(environment, "NVTX_INJECTION64_PATH", library)
	}
	return environment
}

// SetVariable returns the environment with a variable set, in a new place of it.
func SetVariable(environment []string, name, value string) []string {
	environment = slices.DeleteFunc(environment, func(v string) bool { return strings.HasPrefix(v, name+"=") })
	return append(environment, name+"="+value)
}

// Library finds libmarple.so beside this program, or in ../lib where it is installed, by a path that can be preloaded.
func Library() (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("cannot tell where marple is installed: %w", err)
	}
	if real, err := filepath.EvalSymlinks(self); err == nil {
		self = real
	}
	directory := filepath.Dir(self)
	for _, place := range []string{directory, filepath.Join(directory, "..", "lib"), filepath.Join(directory, "..", "lib", "marple")} {
		library := filepath.Join(place, "libmarple.so")
		if _, err := os.Stat(library); err == nil {
			return preloadable(library)
		}
	}
	return "", fmt.Errorf("libmarple.so is neither beside %s nor in ../lib", self)
}

// UsageError is a mistake in how a command was called.
type UsageError struct{ Cause error }

func (e UsageError) Error() string { return e.Cause.Error() }
func (e UsageError) Unwrap() error { return e.Cause }

// Usage is a UsageError.
func Usage(format string, arguments ...any) error {
	return UsageError{fmt.Errorf(format, arguments...)}
}

// Meant offers what was perhaps meant.
func Meant(suggestions []string) string {
	if len(suggestions) == 0 {
		return ""
	}
	return "; did you mean " + strings.Join(suggestions, " or ") + "?"
}

// Fail ends this process after an error of Command's, with the code that shells give where a program cannot be started.
func Fail(err error) {
	if isFirst(localRanks) {
		fmt.Fprintf(os.Stderr, "marple: %v\n", err)
	} else {
		time.Sleep(time.Second) // one on each host says it for all, if the launcher does not end it first because of others
	}
	os.Exit(exitCode(err))
}

func exitCode(err error) int {
	var wrong UsageError
	switch {
	case errors.As(err, &wrong):
		return 2
	case errors.Is(err, exec.ErrNotFound), errors.Is(err, fs.ErrNotExist):
		return 127
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.ENOEXEC):
		return 126
	}
	return 1
}
