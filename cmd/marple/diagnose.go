package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/goccy/go-json"
	"github.com/spf13/cobra"

	"marple/analysis/diagnosis"
	"marple/analysis/knowledge"
	"marple/analysis/pipeline"
	"marple/analysis/report"
	"marple/analysis/run"
	"marple/analysis/setting"
	"marple/analysis/trace"
	"marple/analysis/whatif"
	"marple/cmd/launch"
)

// diagnose is what the flags of `marple diagnose` say.
type diagnose struct {
	models, set []string
	explain     bool
	own         string // directory of models
	format      *string
	out         string
	most        int // runs
}

func diagnoseCommand() *cobra.Command {
	c := &cobra.Command{Use: "diagnose RUN | diagnose A B | diagnose [flags] -- LAUNCHER...", Short: "Say what held a run back, with the knowledge of parallel models",
		Long: `Applies what is known of parallel computational models to a stored run: what holds for every program, and for
the program's own design. Which that is, is recognized from who sends messages to whom, from collective operations
and from names, or it is said with --model: a model, a composition (see marple knowledge list), or a file of one's
own.

For each level of the diagnosis it prints what was concluded and what it costs, the most expensive branch marked.
--explain adds the evidence for every conclusion, and the reason for every one that was rejected.

Of two runs it says what holds back both, only A (gone), or only B (new), by the same knowledge, and what that costs of a
rank's time in each; in brackets stands what costs so much but is no cause by the thresholds. With B on more ranks than A
that is what keeps the program from scaling.

With a command after -- it runs that under Marple, diagnoses, and runs it again with what the next level of the
diagnosis asks to be measured, until nothing more is asked for:

    marple diagnose -- mpirun -n 8 ./app input.dat

Each run is kept. Where the launcher does not pass LD_PRELOAD on, put marple exec before the program as usual.

--format json prints an object with the fields
  program, ranks
  looks[]      how much the run looks like which model: model, title, confidence, signs[] (text, value)
  models[]     pieces of knowledge applied: model, title,
               levels[] (level, model, title, missing[]), and
               conclusions[]: id, model, kind (observation, factor), verdict (holds, rejected, unknown), title,
               level, seconds, share, where, followed, judged_by, from[], and
               reasons[]: verdict, level, lines[] (text, verdict, premise, metric, value, threshold, unit, needs)
  findings[]   as in run.json (marple report --schema)
  to_go_deeper[]  measurement, text, how, for[]
and of two runs one with
  a, b         program, ranks, wall, looks[]
  changes[]    model, id, kind, title, where, and of a and b: verdict, seconds (of each rank, as a mean), share`}
	c.Args = func(c *cobra.Command, arguments []string) error {
		if dash := c.ArgsLenAtDash(); dash == 0 && len(arguments) > 0 {
			return nil
		} else if dash > 0 {
			return usage("diagnose: expected either a run directory or a command after --, not both")
		}
		if len(arguments) == 2 {
			if c.Flags().Changed("explain") {
				return usage("--explain: expected one run, not two: marple diagnose --explain %s", arguments[0])
			}
			return nil
		}
		return oneRun(c, arguments)
	}
	d := &diagnose{format: format(c, "text", "json")}
	c.Flags().StringArrayVar(&d.models, "model", nil, "model, composition or YAML file to diagnose with; may be repeated (default: what the run looks like)")
	c.Flags().StringVar(&d.own, "knowledge", "", knowledgeUsage)
	c.Flags().BoolVar(&d.explain, "explain", false, "show all evidence, and why other conclusions were rejected")
	c.Flags().StringArrayVar(&d.set, "set", nil, "change a threshold: [MODEL.]NAME=QUANTITY, as in --set least=3%")
	c.Flags().StringVar(&d.out, "out", "", "with a command: where its runs are kept, as DIR-1, DIR-2, ... (default: marple-diagnose-<pid>)")
	c.Flags().IntVar(&d.most, "max-runs", 3, "with a command: most runs")
	c.RunE = func(c *cobra.Command, arguments []string) error {
		if c.ArgsLenAtDash() == 0 {
			if d.most < 1 {
				return usage("--max-runs: %d: expected at least 1", d.most)
			}
			silence(c)
			return d.rerun(c.OutOrStdout(), arguments)
		}
		if len(arguments) == 2 {
			return d.relate(c.OutOrStdout(), arguments[0], arguments[1])
		}
		r, result, err := d.diagnose(arguments[0])
		if err != nil {
			return err
		}
		return d.print(c.OutOrStdout(), r, result)
	}
	return c
}

// diagnose diagnoses a stored run.
func (d *diagnose) diagnose(path string) (*run.Run, *diagnosis.Result, error) {
	r, err := pipeline.Open(path)
	if err != nil {
		return nil, nil, err
	}
	choice, err := d.knowledge(r)
	if err != nil {
		return nil, nil, err
	}
	path = directoryOf(path)
	result, err := choice.Diagnose(r, trace.Events(path))
	if err != nil {
		return nil, nil, err
	}
	if d.models == nil && d.set == nil && d.own == "" {
		result.Settle(r)
		return r, result, nil
	}
	if r.Replay, err = run.ReadReplay(path); err != nil {
		return nil, nil, err
	}
	r.Findings, r.MayBe = result.Findings, result.MayBe
	whatif.Gains(r)
	result.Findings, result.MayBe = r.Findings, r.MayBe
	return r, result, nil
}

// relate diagnoses two runs by the same knowledge.
func (d *diagnose) relate(out io.Writer, a, b string) error {
	var runs [2]*run.Run
	var choices [2]*diagnosis.Choice
	for i, path := range []string{a, b} {
		r, err := pipeline.Open(path)
		if err != nil {
			return err
		}
		if choices[i], err = d.knowledge(r); err != nil {
			return err
		}
		runs[i] = r
	}
	result, err := diagnosis.Relate(runs[0], runs[1], choices[0], choices[1], trace.Events(directoryOf(a)), trace.Events(directoryOf(b)))
	if err != nil {
		return err
	}
	if *d.format == "json" {
		return printJSON(out, result)
	}
	_, err = io.WriteString(out, report.Relative(result))
	return err
}

func (d *diagnose) print(out io.Writer, r *run.Run, result *diagnosis.Result) error {
	if *d.format == "json" {
		return printJSON(out, result)
	}
	_, err := io.WriteString(out, report.Diagnosis(result, r, d.explain))
	return err
}

// knowledge loads general knowledge and the models that are named, or those that the run looks like, and changes
// thresholds.
func (d *diagnose) knowledge(r *run.Run) (choice *diagnosis.Choice, err error) {
	choice = &diagnosis.Choice{Looks: []diagnosis.Likeness{}}
	library, err := ownKnowledge(d.own)
	if err != nil {
		return nil, err
	}
	models := d.models
	if len(models) == 0 {
		if choice, err = diagnosis.Choose(r, library); err != nil {
			return nil, err
		}
	} else {
		models = append([]string{"general"}, models...)
	}
	for _, name := range models {
		k, err := loadFrom(library, name)
		if err != nil {
			return nil, err
		}
		choice.Pieces = append(choice.Pieces, diagnosis.Piece{Knowledge: k})
	}
	for _, one := range d.set {
		name, value, ok := strings.Cut(one, "=")
		if !ok {
			return nil, usage("--set: %q: expected [MODEL.]NAME=QUANTITY", one)
		}
		var failed error
		changed := false
		for _, k := range choice.Pieces {
			if err := k.Set(name, value); err != nil {
				failed = err
			} else {
				changed = true
			}
		}
		if !changed {
			return nil, usage("--set: %v", failed)
		}
	}
	return choice, nil
}

// rerun runs a command under Marple, and again with what the diagnosis asks for, and prints the last diagnosis.
func (d *diagnose) rerun(out io.Writer, line []string) error {
	if d.out == "" {
		d.out = fmt.Sprintf("marple-diagnose-%d", os.Getpid())
	}
	settings := map[string]string{"report": "none"}
	if d.own != "" {
		settings["knowledge"] = d.own
	}
	var r *run.Run
	var result *diagnosis.Result
	for n := 1; ; n++ {
		directory := fmt.Sprintf("%s-%d", d.out, n)
		fmt.Fprintf(os.Stderr, "marple: run %d of at most %d, kept in %s\n", n, d.most, directory)
		err := d.measure(line, directory, settings)
		if r, result, err = d.after(directory, err); err != nil {
			return err
		}
		asked := false
		for _, q := range result.Requests {
			m, _ := knowledge.MeasurementOf(q.Measurement)
			for key, value := range m.Settings {
				asked = asked || settings[key] != value
				settings[key] = value
			}
			if len(m.Settings) > 0 {
				fmt.Fprintf(os.Stderr, "marple: %s would tell more: %s\n", q.Text, strings.Join(q.For, ", "))
			}
		}
		if !asked || n == d.most {
			return d.print(out, r, result)
		}
	}
}

// after diagnoses the run that a command has left behind, however the command ended.
func (d *diagnose) after(directory string, failed error) (*run.Run, *diagnosis.Result, error) {
	r, result, err := d.diagnose(directory)
	if err != nil && failed != nil {
		return nil, nil, failed
	}
	if failed != nil {
		fmt.Fprintf(os.Stderr, "marple: %v; what was measured is diagnosed\n", failed)
	}
	return r, result, err
}

// measure runs a command line with Marple preloaded, unless it says marple exec itself.
func (d *diagnose) measure(line []string, directory string, settings map[string]string) error {
	command := exec.Command(line[0], line[1:]...)
	command.Stdin, command.Stdout, command.Stderr = os.Stdin, os.Stdout, os.Stderr
	if *d.format == "json" {
		command.Stdout = os.Stderr
	}
	command.Env = os.Environ()
	variables := maps.Clone(settings)
	variables["out"], variables["site"] = directory, "0" // also in a job that the site measures
	for key, value := range variables {
		s, _ := setting.Lookup(key)
		command.Env = launch.SetVariable(command.Env, s.Variable(), value)
	}
	if !slices.ContainsFunc(line, func(word string) bool { return filepath.Base(word) == "marple" }) {
		library, err := launch.Library()
		if err != nil {
			return err
		}
		if others := os.Getenv("LD_PRELOAD"); others != "" {
			library += ":" + others
		}
		command.Env = launch.SetVariable(command.Env, "LD_PRELOAD", library)
	}
	err := command.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return fmt.Errorf("diagnose: %s: %s", line[0], exit)
	}
	if err != nil {
		return fmt.Errorf("diagnose: %w", err)
	}
	return nil
}

// loadKnowledge takes the name of built-in knowledge, or a file.
func loadKnowledge(name string) (*knowledge.Knowledge, error) {
	return loadFrom(knowledge.Library{}, name)
}

// loadFrom is the same with a library of the user's.
func loadFrom(library knowledge.Library, name string) (*knowledge.Knowledge, error) {
	if !isFile(name) {
		k, err := library.Load(name)
		if err != nil {
			return nil, usageError{Cause: err}
		}
		return k, nil
	}
	data, err := knowledge.ReadFile(name)
	if err != nil {
		return nil, err
	}
	return knowledge.Library{Directory: filepath.Dir(name)}.Read(name, data)
}

// knowledgeUsage says what --knowledge is, in every command that has it.
const knowledgeUsage = "directory with models of your own beside the built-in ones (default: MARPLE_KNOWLEDGE)"

func knowledgeFlag(c *cobra.Command) *string {
	return c.Flags().String("knowledge", "", knowledgeUsage)
}

// ownKnowledge is the library with the models of a directory, or of MARPLE_KNOWLEDGE.
func ownKnowledge(directory string) (knowledge.Library, error) {
	library := knowledge.Library{Directory: cmp.Or(directory, os.Getenv("MARPLE_KNOWLEDGE"))}
	if err := library.Check(); err != nil {
		return library, usage("--knowledge: %v", err)
	}
	return library, nil
}

func isFile(name string) bool {
	return strings.ContainsAny(name, "/\\") || filepath.Ext(name) != ""
}

func printJSON(out io.Writer, v any) error {
	data, err := json.MarshalIndent(v, "", " ")
	if err == nil {
		_, err = fmt.Fprintf(out, "%s\n", data)
	}
	return err
}
