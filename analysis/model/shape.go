package model

import (
	"fmt"
	"strings"

	"marple/analysis/formula"
)

// Families, in the words of the output.
const (
	Constant    = "constant"
	Linear      = "linear"
	Polynomial  = "polynomial"
	Power       = "power"
	Exponential = "exponential"
	Logarithmic = "logarithmic"
	NLogN       = "n log n"
	PMNF        = "pmnf" // performance model normal form
	Piecewise   = "piecewise"
)

// Families lists them all.
func Families() []string {
	return []string{Constant, Linear, Polynomial, Power, Exponential, Logarithmic, NLogN, PMNF, Piecewise}
}

// families are all families that a shape belongs to, the narrowest first. degree is that of a polynomial.
func (s *shape) families(d *design) (names []string, degree int) {
	switch s.kind {
	case power:
		return []string{Power}, 0
	case exponential:
		return []string{Exponential}, 0
	case bend, jump:
		return []string{Piecewise}, 0
	case ratio:
		return []string{Linear, Polynomial, Power, PMNF}, 1
	}
	var factors []term
	most, whole := 0, true
	for _, f := range s.products[:s.count] {
		total := 0
		for p := range d.parameter {
			if f[p] >= 0 {
				t := d.parameter[p].columns[f[p]].term
				factors = append(factors, t)
				total += t.above
				whole = whole && t.isWhole()
			}
		}
		most = max(most, total)
	}
	switch {
	case len(factors) == 0:
		return []string{Constant}, 0
	case whole && most == 1:
		return []string{Linear, Polynomial, PMNF}, 1
	case whole && most <= 4:
		return []string{Polynomial, PMNF}, most
	case len(factors) == 1 && factors[0] == term{0, 1, 1}:
		return []string{Logarithmic, PMNF}, 0
	case len(factors) == 1 && factors[0] == term{1, 1, 1}:
		return []string{NLogN, PMNF}, 0
	}
	return []string{PMNF}, 0
}

// text writes the shape as an expression of its coefficients, prefix0, prefix1, ..., and the parameters.
func (s *shape) text(d *design, names []string, prefix string) string {
	next := 0
	coefficient := func() string {
		next++
		return fmt.Sprintf("%s%d", prefix, next-1)
	}
	times := func(f product) string {
		parts := []string{coefficient()}
		for p := range d.parameter {
			if f[p] >= 0 {
				parts = append(parts, d.parameter[p].columns[f[p]].term.text(names[p]))
			}
		}
		return strings.Join(parts, "*")
	}
	first := ""
	if len(names) > 0 {
		first = formula.Quote(names[0])
	}
	offset := ""
	if s.offset {
		offset = coefficient() + " + "
	}
	switch s.kind {
	case power:
		parts := []string{offset + coefficient()}
		for _, name := range names {
			parts = append(parts, formula.Quote(name)+"^"+coefficient())
		}
		return strings.Join(parts, "*")
	case exponential:
		front := offset + coefficient()
		var parts []string
		for _, name := range names {
			parts = append(parts, coefficient()+"*"+formula.Quote(name))
		}
		return front + "*exp(" + strings.Join(parts, " + ") + ")"
	case ratio:
		return coefficient() + "*" + first
	case bend:
		return fmt.Sprintf("%s + %s*%s + %s*max(0, %s - %s)", coefficient(), coefficient(), first, coefficient(), first, coefficient())
	case jump:
		side := func(f product) string {
			if f == nothing {
				return coefficient()
			}
			return coefficient() + " + " + times(f)
		}
		left, right := side(s.products[0]), side(s.products[1])
		return fmt.Sprintf("if(%s < %s, %s, %s)", first, coefficient(), left, right)
	}
	parts := []string{coefficient()}
	for _, f := range s.products[:s.count] {
		parts = append(parts, times(f))
	}
	return strings.Join(parts, " + ")
}

// prefix of coefficients' names that no parameter has.
func prefix(names []string) string {
	for p := "c"; ; p += "_" {
		taken := false
		for _, name := range names {
			taken = taken || strings.HasPrefix(name, p) && strings.Trim(name[len(p):], "0123456789") == ""
		}
		if !taken {
			return p
		}
	}
}
