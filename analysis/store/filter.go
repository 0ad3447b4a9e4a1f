package store

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/vm"
)

// Filter is a condition on trials.
type Filter struct{ program *vm.Program }

// Fields are the names that expressions may use, with what they mean.
func Fields() (list [][2]string) {
	t := reflect.TypeFor[Trial]()
	for i := range t.NumField() {
		if f := t.Field(i); f.IsExported() {
			list = append(list, [2]string{f.Tag.Get("json"), f.Tag.Get("doc")})
		}
	}
	return list
}

// maxExpression is how long an expression may be.
const maxExpression = 10_000

// ParseFilter reads an expression of expr-lang, such as ranks >= 64 && any(findings, .share > 0.2). Errors show where in
// it the mistake is.
func ParseFilter(text string) (*Filter, error) {
	if len(text) > maxExpression {
		return nil, fmt.Errorf("an expression of %d bytes: expected at most %d", len(text), maxExpression)
	}
	program, err := expr.Compile(text, expr.Env(environment(&Trial{})), expr.AsBool())
	if err != nil {
		return nil, fmt.Errorf("%w\nexpected a condition on %s", err, strings.Join(names(), ", "))
	}
	return &Filter{program}, nil
}

func names() (list []string) {
	for _, f := range Fields() {
		list = append(list, f[0])
	}
	return list
}

// Match tells whether a trial meets the condition. It has an error if that cannot be told: the trial lacks a parameter.
func (f *Filter) Match(t *Trial) (bool, error) {
	answer, err := vm.Run(f.program, environment(t))
	if err != nil {
		first, _, _ := strings.Cut(err.Error(), "\n")
		return false, fmt.Errorf("%s", first)
	}
	return answer.(bool), nil
}

// environment is a trial's fields by name. A parameter that is not there has no value, rather than zero.
func environment(t *Trial) map[string]any {
	fields := map[string]any{}
	v := reflect.ValueOf(t).Elem()
	for i := range v.NumField() {
		if f := v.Type().Field(i); f.IsExported() {
			fields[f.Tag.Get("json")] = v.Field(i).Interface()
		}
	}
	parameters := map[string]any{}
	for name, value := range t.Parameters {
		parameters[name] = value
	}
	fields["params"] = parameters
	if t.Communication != nil {
		fields["communication"] = *t.Communication
	}
	return fields
}
