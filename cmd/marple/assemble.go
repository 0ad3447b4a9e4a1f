package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"marple/analysis/assemble"
	"marple/analysis/page"
	"marple/analysis/pipeline"
	"marple/analysis/proxygen"
	"marple/analysis/run"
	"marple/analysis/selection"
	"marple/analysis/selection/graph"
	"marple/analysis/words"
)

const assembleHelp = `Runs the assembly of a script for Ccaffeine, and as many others as it takes to measure every implementation of the
families once, several families at a time; models what they cost, chooses as marple select does, and runs the chosen
assembly beside the first one.

    marple assemble shock.rc ports/ --families flux.yaml -o best --flag=-Iinclude -- mpirun -n 4 ccafe-batch

HEADERs, or directories of them, define the ports' classes (see marple proxygen --mastermind, whose --port, --param and
--config it takes). The command gets the script as --ccafe-rc SCRIPT, or in place of the word {}. In the file of families
every implementation has a class, and fit: yes unless its time is given; all instances of a family take the same.

    families:
      flux:
        implementations:
          EFM: {fit: yes, class: EFMFlux, qualities: {accuracy: 0.8}}
          Godunov: {fit: yes, class: GodunovFlux, qualities: {accuracy: 0.95}}

An assembly that fails, takes longer than --longest, or whose output --verify does not accept, is taken apart until it is
known which implementation is to blame; that one is named and left out. With --within no further run begins once the time
is up, and what was not measured is not chosen. After an interruption the same command goes on where it was.

It leaves in the directory of -o: assembly.rc (the script with the chosen classes), models.json, report.txt, report.html, and
the runs.

SOLVERS OF PETSc'S. With --petsc there is no script: the families are the solvers of a program, each a Krylov method (-ksp_type)
with a preconditioner (-pc_type), and the program stays as it is.

    marple assemble --petsc 'gmres,cg,bcgs × jacobi,ilu,asm' -- mpirun -n 4 ./app
    marple assemble --petsc 'flow_: gmres,bcgs x ilu,asm -pc_asm_overlap 2' --petsc 'heat_: cg × icc,gamg' \
                    --vary n=100,200,400 --vary ranks=1,2,4 -- mpirun -n {ranks} ./app -n {n}

Solvers are told apart by the prefix of their options (KSPSetOptionsPrefix). A type may have options behind it, without the
prefix. They get to the program through PETSC_OPTIONS, behind what is in there; or in the place of the word {} of the command.
On several ranks ilu and icc are those of each rank's block. Chosen is what has taken the least time with a core, the mean over
ranks, in KSPSolve, setting up included. A solver that does not converge (KSPGetConvergedReason), or fails as above, is left out.
--vary runs all with each value of a parameter; the choice is for the last point, and where the values are enough for models
(five of one parameter, three of each of several) they say which is best between them; beyond them nothing is known.
--repeat runs each several times, which tells a difference from chance; a later command with more repeats adds to what is there.

It leaves petsc.options (for -options_file), families.yaml and models.json (for marple select), report.txt, report.html, and the
runs.

--format json prints the object of marple select, with trials[] (name, taken, state, why, began, elapsed_ns; with --petsc point
and repeat) and verified (first, chosen: seconds per rank that the runs of both took); with --petsc also tried[] (what each
solver took at each point), at (the point that is chosen for), between[] (by models) and options_file.`

// assembling is what one marple assemble does.
type assembling struct {
	trying
	script, cxx         string
	families            string
	line                []string
	proxies             proxygen.Assembly
	plan                *selection.Plan
	parsed              *proxygen.Script
	given               selection.Taken
	limits              []string
	state               *assembleState
	dropped, unmeasured []string
}

// assembleState is what has been done, kept in the directory of -o.
type assembleState struct {
	Digest   string            `json:"digest"` // of what was asked for
	Trials   []*assemble.Trial `json:"trials"`
	Verified *verified         `json:"verified,omitempty"`
}

type verified struct {
	First  float64 `json:"first"`  // seconds with a core, per rank, of the assembly that was given
	Chosen float64 `json:"chosen"` // of the chosen one
}

func assembleCommand() *cobra.Command {
	c := &cobra.Command{Use: "assemble {SCRIPT.rc HEADER... --families FILE | --petsc SOLVERS} -o DIR -- LAUNCHER PROGRAM", Long: assembleHelp,
		Short: "Run assemblies of components, or a program with solvers of PETSc's, and leave what chooses the best"}
	as := format(c, "text", "json")
	a := &assembling{trying: trying{rule: thresholds(c)}}
	f := c.Flags()
	f.StringVar(&a.families, "families", "", "file of families, in YAML")
	f.StringVarP(&a.out, "output", "o", "", "directory for what chooses the best, the models, the page and all runs (with --petsc: "+solversDirectory+")")
	f.DurationVar(&a.within, "within", 0, "begin no further run after this time, such as 30m (default: no limit)")
	f.DurationVar(&a.longest, "longest", 0, "most time of one run (default: ten times that of the first, and at least a minute)")
	f.StringVar(&a.verify, "verify", "", "shell command that reads what a run prints, and fails if it is wrong; $MARPLE_FIRST is a file with what the first one has printed")
	f.BoolVar(&a.dry, "dry-run", false, "say what would be run, and run nothing")
	petsc := solversFlags(f)
	f.StringArrayVar(&a.limits, "limit", nil, "a limit, such as accuracy>=0.9, in place of the file's")
	f.StringVar(&a.cxx, "cxx", "mpicxx", "compiler of the proxies")
	flags := f.StringArray("flag", nil, "flag to read and compile headers with, such as --flag=-Iinclude (may be repeated)")
	ports := f.StringArray("port", nil, "class of a port: NAME=CLASS or NAME=CLASS,TYPE (may be repeated)")
	parameters := f.StringArray("param", nil, "what to record of a method: METHOD:NAME=EXPRESSION (may be repeated)")
	config := f.String("config", "", "YAML file of marple proxygen with the same settings")
	c.Args = func(c *cobra.Command, arguments []string) error {
		if len(petsc.solvers) > 0 {
			return petsc.arguments(c, arguments)
		}
		if dash := c.ArgsLenAtDash(); dash < 2 || len(arguments) == dash {
			return usage("assemble: expected SCRIPT.rc HEADER... -- LAUNCHER FRAMEWORK")
		}
		return nil
	}
	c.RunE = func(c *cobra.Command, arguments []string) error {
		dash := c.ArgsLenAtDash()
		a.c, a.began = c, time.Now()
		if len(petsc.solvers) > 0 {
			return petsc.run(&a.trying, arguments[dash:], *as)
		}
		if len(petsc.vary) > 0 || c.Flags().Changed("repeat") {
			return usage("assemble: --vary and --repeat: expected --petsc with them")
		}
		if a.families == "" || a.out == "" {
			return usage("assemble: --families and -o: expected both")
		}
		if err := a.rule.check(); err != nil {
			return err
		}
		a.script, a.line = arguments[0], arguments[dash:]
		o := proxygen.Options{Flags: *flags}
		if *config != "" {
			if err := readProxyConfig(*config, &o); err != nil {
				return usageError{Cause: err}
			}
		}
		for _, text := range *parameters {
			p, err := proxygen.ParseParameter(text)
			if err != nil {
				return usage("--param %v", err)
			}
			o.Parameters = append(o.Parameters, p)
		}
		a.proxies = proxygen.Assembly{Options: o, Headers: arguments[1:dash], Ports: map[string]proxygen.PortType{}}
		for _, text := range append(o.Ports, *ports...) {
			name, t, err := proxygen.ParsePortType(text)
			if err != nil {
				return usage("--port %v", err)
			}
			a.proxies.Ports[name] = t
		}
		ctx, stop := signal.NotifyContext(c.Context(), os.Interrupt, syscall.SIGTERM)
		defer stop()
		silence(c)
		answer, err := a.run(ctx)
		if err != nil || answer == nil {
			return err
		}
		if *as == "json" {
			return printJSON(c.OutOrStdout(), struct {
				*run.Selection
				*assembleState
			}{&answer.Selection, a.state})
		}
		_, err = fmt.Fprint(c.OutOrStdout(), a.text(answer))
		return err
	}
	return c
}

func (a *assembling) run(ctx context.Context) (*selection.Answer, error) {
	if err := a.prepare(); err != nil {
		return nil, err
	}
	if a.dry {
		for n, t := range a.state.Trials {
			fmt.Fprintf(a.c.OutOrStdout(), "run %d of %d: %s\n", n+1, len(a.state.Trials), t.Text(a.given))
		}
		return nil, nil
	}
	if err := os.MkdirAll(a.path("runs"), 0o777); err != nil {
		return nil, err
	}
	if err := a.interpose(ctx); err != nil {
		return nil, err
	}
	if err := a.measure(ctx); err != nil {
		return nil, err
	}
	answer, err := a.choose(ctx)
	if err != nil {
		return nil, err
	}
	return answer, a.check(ctx, answer)
}

// prepare reads everything, and finds out whether it has been begun before.
func (a *assembling) prepare() (err error) {
	if a.plan, err = selection.ReadPlan(a.families); err != nil {
		return err
	}
	for _, l := range a.limits {
		if err := a.plan.Limit(l); err != nil {
			return usage("--limit: %v", err)
		}
	}
	text, err := os.ReadFile(a.script)
	if err != nil {
		return err
	}
	if a.parsed, err = proxygen.ParseScript(a.script, string(text)); err != nil {
		return err
	}
	if a.given, err = a.plan.In(a.parsed); err != nil {
		return err
	}
	families, err := os.ReadFile(a.families)
	if err != nil {
		return err
	}
	digest := sha256.Sum256(fmt.Appendf(nil, "%q %q %q %q %q %v %q", text, families, a.line, a.proxies.Headers, a.proxies.Flags, a.proxies.Parameters, a.verify))
	a.state = &assembleState{Digest: hex.EncodeToString(digest[:])}
	before, err := a.before(a.state.Digest, "script, file of families or command")
	if err != nil {
		return err
	}
	if before == nil {
		var candidates []assemble.Candidates
		for _, f := range a.plan.Families {
			candidates = append(candidates, assemble.Candidates{Family: f.Name, Others: slices.DeleteFunc(f.Unmeasured(), func(name string) bool { return name == a.given[f.Name] })})
		}
		a.state.Trials = assemble.Trials(candidates, a.given)
		return nil
	}
	a.state = before
	return nil
}

// interpose writes the scripts of all trials, and the proxies that measure them, and compiles these.
func (a *assembling) interpose(ctx context.Context) error {
	trials := slices.Clone(a.state.Trials)
	for _, t := range a.state.Trials {
		trials = append(trials, t.Apart(a.given)...)
	}
	var scripts []string
	for _, t := range trials {
		path, err := a.write(t.Name, t.Taken, "marple assemble: "+t.Text(a.given))
		if err != nil {
			return err
		}
		if !slices.Contains(scripts, path) {
			scripts = append(scripts, path)
		}
	}
	p := a.proxies
	p.Scripts, p.Directory, p.Components = scripts, a.path("proxies"), a.plan.Classes()
	for class := range p.Components {
		if !slices.ContainsFunc(trials, func(t *assemble.Trial) bool { return a.runs(t, class) }) {
			delete(p.Components, class)
		}
	}
	files, omitted, err := proxygen.GenerateAssembly(ctx, p)
	var wrong proxygen.UsageError
	if errors.As(err, &wrong) {
		return usageError{Cause: err}
	} else if err != nil {
		return err
	}
	for _, o := range omitted {
		a.say("%s: %s", o.Member, o.Reason)
	}
	if err := os.MkdirAll(p.Directory, 0o777); err != nil {
		return err
	}
	same := true
	for _, f := range files {
		path := filepath.Join(p.Directory, f.Name)
		there, err := os.ReadFile(path)
		if same = same && err == nil && string(there) == f.Text; same {
			continue
		}
		if err := run.WriteFile(path, []byte(f.Text)); err != nil {
			return err
		}
	}
	if _, err := os.Stat(filepath.Join(p.Directory, "libproxies.so")); same && err == nil {
		return nil
	}
	var include []string
	if own := headers(); own != "" {
		include = append(include, own)
	}
	line, err := p.Compile(a.cxx, include...)
	if err != nil {
		return err
	}
	a.say("compiling proxies of %s", words.Count(uint64(len(files)), "file", "files"))
	if output, err := exec.CommandContext(ctx, line[0], line[1:]...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", strings.Join(line, " "), err, output)
	}
	return nil
}

// runs tells whether a trial has an instance of a class.
func (a *assembling) runs(t *assemble.Trial, class string) bool {
	for _, f := range a.plan.Families {
		for _, i := range f.Implementations {
			if i.Class == class && t.Taken[f.Name] == i.Name {
				return true
			}
		}
	}
	return false
}

// write writes an assembly's script.
func (a *assembling) write(name string, taken selection.Taken, title string) (string, error) {
	text, err := a.plan.With(a.parsed, taken, title)
	if err != nil {
		return "", err
	}
	path := a.path("scripts", name+".rc")
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return "", err
	}
	return path, run.WriteFile(path, []byte(text))
}

// measure runs what has not run.
func (a *assembling) measure(ctx context.Context) error {
	for n := 0; n < len(a.state.Trials); n++ {
		t := a.state.Trials[n]
		switch {
		case t.State == assemble.Failed:
			continue
		case t.State == assemble.Done:
			a.say("run %d of %d, %s: kept from before", n+1, len(a.state.Trials), t.Text(a.given))
			if err := a.learn(t); err != nil {
				return err
			}
		case n > 0 && a.late():
			a.unmeasured = append(a.unmeasured, t.Text(a.given))
			continue
		default:
			a.say("run %d of %d: %s", n+1, len(a.state.Trials), t.Text(a.given))
			began := time.Now()
			t.Began = began
			err := a.execute(ctx, t.Name, a.with(a.path("proxies", t.Name+".rc")), nil)
			if err == nil {
				err = a.learn(t)
			}
			if ctx.Err() != nil {
				return fmt.Errorf("interrupted; the same command goes on with run %d", n+1)
			}
			t.Ns, t.State = time.Since(began).Nanoseconds(), assemble.Done
			if err != nil {
				t.State, t.Why = assemble.Failed, err.Error()
				if n == 0 {
					return fmt.Errorf("the assembly that was given: %w", err)
				}
				apart := t.Apart(a.given)
				a.say("%s: %v", t.Text(a.given), err)
				a.state.Trials = append(a.state.Trials, apart...)
			}
			if err := a.save(a.state); err != nil {
				return err
			}
		}
		if n == 0 {
			a.first, a.original = time.Duration(t.Ns), a.path("runs", t.Name+".out")
		}
	}
	return nil
}

// with is the command that runs a script.
func (a *assembling) with(script string) []string {
	line := slices.Clone(a.line)
	if at := slices.Index(line, "{}"); at >= 0 {
		line[at] = script
		return line
	}
	return append(line, "--ccafe-rc", script)
}

// learn models what has run.
func (a *assembling) learn(t *assemble.Trial) error {
	invocations, err := selection.Invocations(a.path("runs", t.Name))
	if err != nil {
		return err
	}
	return a.plan.FitTaken(t.Taken, invocations)
}

// choose selects among what has been measured, and leaves models, script and page.
func (a *assembling) choose(ctx context.Context) (*selection.Answer, error) {
	for _, f := range a.plan.Families {
		for _, name := range f.Unmeasured() {
			why := "it was not measured: the time was up (--within)"
			for _, t := range a.state.Trials {
				if t.State == assemble.Failed && t.Taken[f.Name] == name && len(t.New(a.given)) == 1 {
					why = t.Why
				}
			}
			a.dropped = append(a.dropped, fmt.Sprintf("%s.%s is left out: %s", f.Name, name, why))
			if err := a.plan.Drop(f.Name, name); err != nil {
				return nil, err
			}
		}
	}
	directory := a.path("runs", assemble.First)
	r, err := pipeline.Open(directory)
	if err != nil {
		return nil, err
	}
	g, err := graph.FromRun(r)
	if err != nil {
		return nil, err
	}
	invocations, err := selection.Invocations(directory)
	if err != nil {
		return nil, err
	}
	if err := a.plan.Measure(directory); err != nil {
		return nil, err
	}
	answer, err := selection.Select(ctx, selection.Question{Graph: g.Grouped(), Plan: a.plan, Rule: a.rule.Rule, Best: 3, Draws: 1000, Within: 10 * time.Second,
		Given: selection.Sizes{Records: selection.Recorded(invocations)}})
	if err != nil {
		return nil, err
	}
	answer.Notes = append(answer.Notes, a.dropped...)
	script, err := answer.ScriptFrom(a.parsed)
	if err != nil {
		return nil, err
	}
	models, err := a.plan.Document().Encode()
	if err != nil {
		return nil, err
	}
	r.Selection = &answer.Selection
	o := pageOptions{alpha: a.rule.Alpha, beta: a.rule.Beta}
	p, err := o.describe(r, directory)
	if err != nil {
		return nil, err
	}
	var text bytes.Buffer
	if err := page.Write(&text, *p); err != nil {
		return nil, err
	}
	for name, data := range map[string][]byte{"assembly.rc": []byte(script), "models.json": models, "report.html": text.Bytes()} {
		if err := run.WriteFile(a.path(name), data); err != nil {
			return nil, err
		}
	}
	return answer, nil
}

// check runs the chosen assembly beside the first one, both without proxies.
func (a *assembling) check(ctx context.Context, answer *selection.Answer) error {
	chosen, err := os.ReadFile(a.path("assembly.rc"))
	if err != nil {
		return err
	}
	taken := maps.Clone(a.given)
	for _, c := range answer.Choices {
		taken[c.Family] = c.Implementation
	}
	if a.state.Verified == nil && !maps.Equal(taken, a.given) {
		v := &verified{}
		for name, to := range map[string]*float64{"verify-first": &v.First, "verify-chosen": &v.Chosen} {
			path := a.script
			if to == &v.Chosen {
				path = a.path("scripts", name+".rc")
				if err := run.WriteFile(path, chosen); err != nil {
					return err
				}
			}
			a.say("%s", map[bool]string{true: "verifying: the chosen assembly", false: "verifying: the assembly as it is"}[to == &v.Chosen])
			if err := a.execute(ctx, name, a.with(path), nil); err != nil {
				return fmt.Errorf("%s: %w", path, err)
			}
			r, err := pipeline.Open(a.path("runs", name))
			if err != nil {
				return err
			}
			r.Root().Costs(func(n *run.Node, inclusive uint64) {
				if n == r.Root() {
					*to = float64(inclusive) / 1e9 / float64(max(r.Measured, 1))
				}
			})
		}
		a.state.Verified = v
		if err := a.save(a.state); err != nil {
			return err
		}
	}
	return run.WriteFile(a.path("report.txt"), []byte(a.text(answer)+ran(a.state.Trials, func(t *assemble.Trial) string { return t.Text(a.given) })))
}

// text is the choice for people.
func (a *assembling) text(answer *selection.Answer) string {
	var b strings.Builder
	b.WriteString(selection.Text(&answer.Selection))
	b.WriteString("\n")
	if v := a.state.Verified; v != nil {
		fmt.Fprintf(&b, "Verified     the chosen assembly took %s, the first one %s\n", words.Duration(v.Chosen), words.Duration(v.First))
		if v.Chosen > v.First {
			b.WriteString("             It took longer than the first one here: the models, or this run, are wrong.\n")
		}
	} else {
		b.WriteString("Verified     it is the assembly that was given\n")
	}
	for _, text := range a.unmeasured {
		fmt.Fprintf(&b, "Not run      %s: the time was up (--within)\n", words.Clean(text))
	}
	fmt.Fprintf(&b, "Script       %s\n", a.path("assembly.rc"))
	return b.String()
}
