package selection

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/stat"

	"marple/analysis/formula"
	"marple/analysis/invocation"
	"marple/analysis/model"
	"marple/analysis/proxygen"
	"marple/analysis/series"
)

// Taken is an assembly: the implementation of each family, by their names.
type Taken map[string]string

// In is what a script takes. All instances of a family must be of one implementation.
func (p *Plan) In(s *proxygen.Script) (Taken, error) {
	taken, there := Taken{}, s.Instances()
	for _, fam := range p.Families {
		found, classes, err := p.instances(s, &variable{family: fam, instances: fam.Components})
		if err != nil {
			return nil, err
		}
		for _, name := range found {
			if there[name] != there[found[0]] {
				return nil, p.file.fail(fam.at, "%s: %s is of class %s and %s of class %s; expected one class in all of the script", fam.Name,
					found[0], there[found[0]], name, there[name])
			}
		}
		taken[fam.Name] = fam.Implementations[slices.Index(classes, there[found[0]])].Name
	}
	return taken, nil
}

// With is a script with other implementations.
func (p *Plan) With(s *proxygen.Script, taken Taken, title string) (string, error) {
	change := proxygen.Change{Title: title}
	for _, fam := range p.Families {
		if err := p.exchange(&change, s, &variable{family: fam, instances: fam.Components}, fam.member(taken[fam.Name])); err != nil {
			return "", err
		}
	}
	return s.Changed(change), nil
}

func (f *Family) member(name string) *Implementation {
	if i := slices.IndexFunc(f.Implementations, func(i *Implementation) bool { return i.Name == name }); i >= 0 {
		return f.Implementations[i]
	}
	return nil
}

// Classes are the classes of all implementations, and what records are to call their components: the family's name for it.
func (p *Plan) Classes() map[string]string {
	list := map[string]string{}
	for _, fam := range p.Families {
		for _, i := range fam.Implementations {
			list[i.Class] = fam.Components[0]
		}
	}
	return list
}

// Unmeasured are the implementations of a family that have to run before anything is known of their time.
func (f *Family) Unmeasured() (list []string) {
	for _, i := range f.Implementations {
		if i.fit && len(i.methods) == 0 {
			list = append(list, i.Name)
		}
	}
	return list
}

// Drop takes an implementation out of its family. It is an error if no other is left.
func (p *Plan) Drop(family, implementation string) error {
	for _, fam := range p.Families {
		if fam.Name != family {
			continue
		}
		if fam.Implementations = slices.DeleteFunc(fam.Implementations, func(i *Implementation) bool { return i.Name == implementation }); len(fam.Implementations) == 0 {
			return p.file.fail(fam.at, "%s: none of its implementations is left", family)
		}
	}
	return nil
}

// FitTaken models those implementations of an assembly that ask for it, by the records of a run of it. Where no
// function can be told from them, the mean of all invocations stands for each, and a note says so.
func (p *Plan) FitTaken(taken Taken, invocations []*series.Series) error {
	fitter := &model.Fitter{}
	there := map[string]bool{}
	for _, s := range invocations {
		if cut := strings.LastIndexByte(s.Name, '.'); cut > 0 && len(s.Y) > 0 {
			there[s.Name[:cut]] = true
		}
	}
	for _, fam := range p.Families {
		if i := fam.member(taken[fam.Name]); i != nil && i.fit && !slices.ContainsFunc(fam.Components, func(c string) bool { return there[c] }) {
			return p.file.fail(i.at, "%s: the run has kept no records of its invocations; there are those of %s", i, few(slices.Sorted(maps.Keys(there))))
		}
	}
	for _, fam := range p.Families {
		i := fam.member(taken[fam.Name])
		if i == nil || !i.fit || len(i.methods) > 0 {
			continue
		}
		for _, s := range invocations {
			cut := strings.LastIndexByte(s.Name, '.')
			if cut <= 0 || s.Response != invocation.Exclusive || !slices.Contains(fam.Components, s.Name[:cut]) || len(s.Y) == 0 {
				continue
			}
			e, err := p.fit(fitter, i, s)
			if err != nil {
				return err
			}
			i.methods[s.Name[cut+1:]] = e
		}
	}
	return nil
}

// fit makes a model of an implementation's method; where there is none, its invocations' mean.
func (p *Plan) fit(fitter *model.Fitter, i *Implementation, s *series.Series) (*estimate, error) {
	e := &estimate{at: i.at, name: i.String()}
	models, err := pick(fitter.FitSeries(s, model.Options{}), "", "", 0)
	if err == nil {
		e.fitted = &fitted{what: i.String(), at: i.at, models: models}
		err = e.fitted.prepare(p.machine)
	}
	if err != nil {
		e.fitted = nil
		if e.time, err = formula.Parse(strconv.FormatFloat(stat.Mean(s.Y, nil)/p.Unit, 'g', -1, 64)); err != nil {
			return nil, err
		}
		p.notes = append(p.notes, fmt.Sprintf("%s counts with the mean of its invocations, whatever their size", i))
	}
	return e, nil
}

// Document is all models that were fitted, by family.implementation and method.
func (p *Plan) Document() *model.Document {
	d := &model.Document{Schema: model.Schema}
	for _, fam := range p.Families {
		for _, i := range fam.Implementations {
			for _, method := range slices.Sorted(maps.Keys(i.methods)) {
				if f := i.methods[method].fitted; f != nil {
					for _, m := range f.models {
						one := *m
						one.Name = i.String() + "." + method
						d.Models = append(d.Models, &one)
					}
				}
			}
		}
	}
	return d
}
