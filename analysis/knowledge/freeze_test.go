package knowledge

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A model that was frozen is the one that was read, and what it says can be evaluated.
func TestFrozen(t *testing.T) {
	form, err := Frozen()
	require.NoError(t, err)
	for _, l := range []Library{{}, {signs: true}} {
		for _, name := range Names() {
			checkFrozen(t, l, name, string(form))
		}
	}
}

func checkFrozen(t *testing.T, l Library, name, form string) {
	read, err := l.Load(name)
	require.NoError(t, err)
	frozen = form
	defer func() { frozen = "" }()
	composed := read.File != read.Scopes[0].Model.File
	assert.Equal(t, composed, l.thaw(name) == nil, name)
	k, err := l.Load(name)
	require.NoError(t, err)
	seen := map[*Expression]bool{} // in a composition a model may stand at several places
	bare := func(e *Expression) {
		if seen[e] {
			return
		}
		seen[e] = true
		program, err := e.program()
		assert.NoError(t, err, "%s: %s", name, e.Text)
		assert.NotNil(t, program)
		e.program = nil
	}
	for _, one := range []*Knowledge{k, read} {
		for _, s := range one.Scopes {
			everyExpression(reflect.ValueOf(s.Model), bare)
		}
	}
	assert.Equal(t, read, k, name)
}

// everyExpression below a value.
func everyExpression(v reflect.Value, visit func(*Expression)) {
	if v.Kind() == reflect.Pointer && !v.IsNil() {
		if e, ok := v.Interface().(*Expression); ok {
			visit(e)
			return
		}
		v = v.Elem()
	}
	switch v.Kind() {
	case reflect.Slice:
		for i := range v.Len() {
			everyExpression(v.Index(i), visit)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				everyExpression(v.Field(i), visit)
			}
		}
	}
}

func BenchmarkLoad(b *testing.B) {
	form, err := Frozen()
	require.NoError(b, err)
	for name, set := range map[string]string{"read": "", "frozen": string(form)} {
		b.Run(name, func(b *testing.B) {
			frozen = set
			defer func() { frozen = "" }()
			for b.Loop() {
				if _, err := (Library{}).Load("general"); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
