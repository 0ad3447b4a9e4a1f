package assemble

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Ranks is the parameter that says with how many ranks a program runs.
const Ranks = "ranks"

// Vary is a parameter of a command line, and the values it is run with.
type Vary struct {
	Name   string
	Texts  []string
	Values []float64
}

// Point is values of all parameters, in the order of their names in the command.
type Point struct {
	Names  []string
	Texts  []string
	Values []float64
}

// ParseVary reads n=100,200,400.
func ParseVary(text string) (Vary, error) {
	name, list, ok := strings.Cut(text, "=")
	v := Vary{Name: strings.TrimSpace(name)}
	if !ok || v.Name == "" || strings.ContainsAny(v.Name, "{}, ") {
		return v, fmt.Errorf("%q: expected name=value,value", text)
	}
	for one := range strings.SplitSeq(list, ",") {
		one = strings.TrimSpace(one)
		x, err := strconv.ParseFloat(one, 64)
		switch {
		case err != nil || math.IsNaN(x) || math.IsInf(x, 0):
			return v, fmt.Errorf("%q: expected a number, found %q", text, one)
		case v.Name == Ranks && (x != math.Trunc(x) || x < 1):
			return v, fmt.Errorf("%q: expected a number of ranks, found %q", text, one)
		case slices.Contains(v.Values, x):
			return v, fmt.Errorf("%q: %s stands there twice", text, one)
		}
		v.Texts, v.Values = append(v.Texts, one), append(v.Values, x)
	}
	return v, nil
}

// MaxPoints of a study.
const MaxPoints = 10_000

// Points are all combinations of the parameters' values, the last parameter's changing fastest; one without values if there
// are no parameters.
func Points(list []Vary) ([]Point, error) {
	points := []Point{{}}
	for i, v := range list {
		if slices.ContainsFunc(list[:i], func(other Vary) bool { return other.Name == v.Name }) {
			return nil, fmt.Errorf("%s is varied twice", v.Name)
		}
		var next []Point
		for _, p := range points {
			for k := range v.Texts {
				next = append(next, Point{append(slices.Clone(p.Names), v.Name), append(slices.Clone(p.Texts), v.Texts[k]), append(slices.Clone(p.Values), v.Values[k])})
			}
		}
		if points = next; len(points) > MaxPoints {
			return nil, fmt.Errorf("more than %d points", MaxPoints)
		}
	}
	return points, nil
}

// At is the point by names.
func (p Point) At() map[string]float64 {
	at := map[string]float64{}
	for i, name := range p.Names {
		at[name] = p.Values[i]
	}
	return at
}

// Text is the point for people: n 100, ranks 2; "" if there are no parameters.
func (p Point) Text() string {
	var list []string
	for i, name := range p.Names {
		list = append(list, name+" "+p.Texts[i])
	}
	return strings.Join(list, ", ")
}

// Beyond tells whether no parameter is less than at another point.
func (p Point) Beyond(other Point) bool {
	for i, x := range p.Values {
		if x < other.Values[i] {
			return false
		}
	}
	return true
}

// Fill puts the values into the words of a command, in the place of {name}.
func (p Point) Fill(line []string) []string {
	var pairs []string
	for i, name := range p.Names {
		pairs = append(pairs, "{"+name+"}", p.Texts[i])
	}
	r, out := strings.NewReplacer(pairs...), make([]string, len(line))
	for i, word := range line {
		out[i] = r.Replace(word)
	}
	return out
}

// Missing are parameters that a command does not have.
func Missing(list []Vary, line []string) (names []string) {
	for _, v := range list {
		if !slices.ContainsFunc(line, func(word string) bool { return strings.Contains(word, "{"+v.Name+"}") }) {
			names = append(names, v.Name)
		}
	}
	return names
}
