package main

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"marple/analysis/formula"
	"marple/analysis/model"
	"marple/analysis/model/modeltest"
)

// Each function is measured so often anew, at so much noise, and predicted so far beyond.
const (
	rivalSeed  = 20
	rivalDraws = 100
)

var (
	rivalNoises = []float64{0, 0.02, 0.05, 0.10}
	rivalTimes  = []float64{2, 4}
)

// rivals prints how far off predictions of Extra-P's own command line and of `marple fit` are, from the same data.
func (b bench) rivals() {
	readers, err := filepath.Abs("build/peers/readers")
	check(err)
	extrap := exec.Command("/usr/bin/env", "PYTHONPATH="+readers, "PYTHONDONTWRITEBYTECODE=1", "/usr/bin/python3", "-m", "extrap", "--version")
	version, err := extrap.Output()
	if err != nil {
		fmt.Println("Extra-P is not there (test/peers.sh readers): left out")
		return
	}
	fmt.Printf("\nPredictions of %s and of marple fit from the same data: 5 points per parameter (6 of q), 5 repetitions, %d draws\n",
		strings.TrimSpace(string(version)), rivalDraws)
	fmt.Printf("(seed %d). Median error in %% of the true value. The last five scatter as runs do: none is faster than it can be,\n", rivalSeed)
	fmt.Println("and one of 25 takes half as long again.")
	known := modeltest.KnownFunctions()
	errors := make([][][2][2]float64, len(known)) // by function and noise: theirs and ours, of each of rivalTimes
	for i, k := range known {
		for _, noise := range rivalNoises {
			r := rand.New(rand.NewPCG(rivalSeed+uint64(i), uint64(1000*noise)))
			var draws []*model.Samples
			for range rivalDraws {
				draws = append(draws, k.Samples(r, 5, noise))
			}
			theirs, ours := b.extrap(k, draws, readers), b.fit(k, draws)
			errors[i] = append(errors[i], [2][2]float64{{median(theirs[0]), median(theirs[1])}, {median(ours[0]), median(ours[1])}})
		}
	}
	var nearer [2]int
	for at, times := range rivalTimes {
		fmt.Printf("%-22s", fmt.Sprintf("%g times beyond", times))
		for _, noise := range rivalNoises {
			fmt.Printf(" | %15s", fmt.Sprintf("%.0f %% noise ", 100*noise))
		}
		fmt.Printf("\n%-22s%s\n", "", strings.Repeat(fmt.Sprintf(" | %7s %7s", "Extra-P", "marple"), len(rivalNoises)))
		for i, k := range known {
			fmt.Printf("%-22s", k.Family)
			for _, e := range errors[i] {
				theirs, ours := e[0][at], e[1][at]
				fmt.Printf(" | %7s %7s", percentage(theirs), percentage(ours))
				switch {
				case theirs < 0.99*ours && ours > 0.0005:
					nearer[0]++
				case ours < 0.99*theirs && theirs > 0.0005:
					nearer[1]++
				}
			}
			fmt.Println()
		}
	}
	fmt.Printf("Nearer by more than a hundredth of the error: Extra-P %d times, marple fit %d times of %d\n", nearer[0], nearer[1], len(known)*len(rivalNoises)*len(rivalTimes))
}

func percentage(share float64) string {
	switch {
	case share < 0.00005:
		return "0"
	case share >= 10:
		return ">1000"
	}
	return strconv.FormatFloat(100*share, 'f', 1, 64)
}

// off is the error of predictions, for each of rivalTimes.
func off(k modeltest.Known, mean func(x []float64) float64) (list [2]float64) {
	for at, times := range rivalTimes {
		x := k.Beyond(times)
		if list[at] = math.Abs(mean(x)/k.Mean(x) - 1); math.IsNaN(list[at]) {
			list[at] = math.Inf(1)
		}
	}
	return list
}

// falls tells whether a function falls with one of its parameters.
func falls(k modeltest.Known) bool {
	first := k.Points[0]
	for i := range first {
		x := slices.Clone(first)
		x[i] = k.Points[len(k.Points)-1][i]
		if k.Mean(x) < k.Mean(first) {
			return true
		}
	}
	return false
}

// extrap asks Extra-P for models of all draws, each as a region.
func (b bench) extrap(k modeltest.Known, draws []*model.Samples, readers string) (errors [2][]float64) {
	var text strings.Builder
	for _, name := range k.Parameters {
		fmt.Fprintln(&text, "PARAMETER", name)
	}
	text.WriteString("POINTS")
	for _, x := range k.Points {
		fmt.Fprintf(&text, " (%s)", strings.Trim(fmt.Sprint(x), "[]"))
	}
	text.WriteString("\nMETRIC time\n")
	for i, d := range draws {
		fmt.Fprintf(&text, "REGION draw%d\n", i)
		for from := 0; from < len(d.Y); {
			to := from
			text.WriteString("DATA")
			for ; to < len(d.Y) && slices.Equal(d.X[to], d.X[from]); to++ {
				fmt.Fprintf(&text, " %.17g", d.Y[to])
			}
			text.WriteByte('\n')
			from = to
		}
	}
	file := filepath.Join(b.work, "extrap.txt")
	check(os.WriteFile(file, []byte(text.String()), 0o666))
	arguments := []string{"PYTHONPATH=" + readers, "PYTHONDONTWRITEBYTECODE=1", "/usr/bin/python3", "-m", "extrap", "--text", file, "--disable-progress",
		"--print", "{callpath}; {model:python}"}
	if falls(k) { // which it must be told; marple fit sees it
		if len(k.Parameters) > 1 {
			arguments = append(arguments, "--options", "#spm=Default", "#spo=allow_negative_exponents=true")
		} else {
			arguments = append(arguments, "--options", "allow_negative_exponents=true")
		}
	}
	out, err := exec.Command("/usr/bin/env", arguments...).Output()
	check(err)
	found := 0
	for line := range strings.Lines(string(out)) {
		_, expression, is := strings.Cut(strings.TrimSpace(line), "; ")
		if !is {
			continue
		}
		e, err := formula.Parse(strings.ReplaceAll(expression, "**", "^"))
		check(err)
		mean, err := e.Func(k.Parameters...)
		check(err)
		for at, v := range off(k, mean) {
			errors[at] = append(errors[at], v)
		}
		found++
	}
	if found != len(draws) {
		check(fmt.Errorf("Extra-P gave %d models for %d regions:\n%s", found, len(draws), out))
	}
	return errors
}

// fit asks marple fit for models of all draws, which a column tells apart.
func (b bench) fit(k modeltest.Known, draws []*model.Samples) (errors [2][]float64) {
	var text strings.Builder
	fmt.Fprintf(&text, "draw,%s,time\n", strings.Join(k.Parameters, ","))
	for i, d := range draws {
		for j, x := range d.X {
			fmt.Fprintf(&text, "%d", i)
			for _, v := range x {
				fmt.Fprintf(&text, ",%g", v)
			}
			fmt.Fprintf(&text, ",%.17g\n", d.Y[j])
		}
	}
	file := filepath.Join(b.work, "fit.csv")
	check(os.WriteFile(file, []byte(text.String()), 0o666))
	arguments := []string{"fit", file, "--by", "draw", "--format", "json"}
	for _, times := range rivalTimes {
		var at []string
		for i, v := range k.Beyond(times) {
			at = append(at, fmt.Sprintf("%s=%g", k.Parameters[i], v))
		}
		arguments = append(arguments, "--predict", strings.Join(at, ","))
	}
	out, err := exec.Command(filepath.Join(b.build, "marple"), arguments...).Output()
	check(err)
	var answer struct{ Models []*model.Model }
	check(json.Unmarshal(out, &answer))
	// Of several modes, the one that most samples are of.
	of := map[string]*model.Model{}
	for _, m := range answer.Models {
		if before := of[m.Name]; before == nil || m.Mode.Share > before.Mode.Share {
			of[m.Name] = m
		}
	}
	for i := range draws {
		m := of[strconv.Itoa(i)]
		if m == nil {
			check(fmt.Errorf("marple fit gave no model for draw %d", i))
		}
		for at, times := range rivalTimes {
			x, v := k.Beyond(times), math.Inf(1)
			if i := slices.IndexFunc(m.Predictions, func(p model.Prediction) bool {
				return !slices.ContainsFunc(k.Parameters, func(name string) bool { return p.At[name] != x[slices.Index(k.Parameters, name)] })
			}); i >= 0 {
				v = off(k, func([]float64) float64 { return m.Predictions[i].Mean })[at]
			}
			errors[at] = append(errors[at], v)
		}
	}
	return errors
}
