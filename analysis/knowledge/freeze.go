package knowledge

import (
	"encoding/binary"
	"fmt"
	"math"
	"reflect"
	"sync"
)

// frozen are the built-in models as they are once read and checked, which takes ten times as long as thawing them: every job
// pays for it at its end. A build of the core puts them here (see freeze/main.go); without them models are read.
var frozen string

// Frozen is what frozen is set to: of each built-in model its name and its form, and the form of what its signs need; but for
// compositions and extensions, which are read. Every integer in a form is a varint, every text and list is preceded by its
// length, a pointer by whether it is nil.
func Frozen() ([]byte, error) {
	var out []byte
	for _, name := range Names() {
		for _, l := range []Library{{}, {signs: true}} {
			k, err := l.Load(name)
			if err != nil {
				return nil, err
			}
			if k.File != k.Scopes[0].Model.File {
				continue // a composition or an extension
			}
			form, err := freeze(nil, reflect.ValueOf(k.Scopes[0].Model))
			if err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			out = text(text(out, l.form(name)), string(form))
		}
	}
	return out, nil
}

// form is the name of what the library takes of a built-in model.
func (l Library) form(name string) string {
	if l.signs {
		return name + ", signs"
	}
	return name
}

// thaw gives a model from among the frozen ones, each time anew; nil if it is not there.
func (l Library) thaw(name string) *Model {
	for all := (ice{frozen}); all.left != ""; {
		if found, form := all.text(), all.text(); found == l.form(name) {
			var m *Model
			(&ice{form}).thaw(reflect.ValueOf(&m).Elem())
			return m
		}
	}
	return nil
}

func text(out []byte, s string) []byte {
	return append(binary.AppendUvarint(out, uint64(len(s))), s...)
}

// freeze appends the form of a value: all but fields that are not exported.
func freeze(out []byte, v reflect.Value) ([]byte, error) {
	var err error
	switch v.Kind() {
	case reflect.String:
		return text(out, v.String()), nil
	case reflect.Bool:
		return append(out, byte(map[bool]int{true: 1}[v.Bool()])), nil
	case reflect.Int, reflect.Int8, reflect.Int32, reflect.Int64:
		return binary.AppendVarint(out, v.Int()), nil
	case reflect.Uint8, reflect.Uint16, reflect.Uint32:
		return binary.AppendUvarint(out, v.Uint()), nil
	case reflect.Float64:
		return binary.LittleEndian.AppendUint64(out, math.Float64bits(v.Float())), nil
	case reflect.Pointer:
		if v.IsNil() {
			return append(out, 0), nil
		}
		return freeze(append(out, 1), v.Elem())
	case reflect.Slice: // nil is one more than none
		length := uint64(v.Len()) + 1
		if v.IsNil() {
			length = 0
		}
		out = binary.AppendUvarint(out, length)
		for i := range v.Len() {
			if out, err = freeze(out, v.Index(i)); err != nil {
				return nil, err
			}
		}
		return out, nil
	case reflect.Struct:
		for i, exported := range exported(v.Type()) {
			if !exported {
				continue
			}
			if out, err = freeze(out, v.Field(i)); err != nil {
				return nil, err
			}
		}
		return out, nil
	}
	return nil, fmt.Errorf("%s has no form", v.Type())
}

// exported tells of a structure's fields whether they are; reflect allocates for each answer, so they are kept.
func exported(t reflect.Type) []bool {
	if known, ok := fields.Load(t); ok {
		return known.([]bool)
	}
	list := make([]bool, t.NumField())
	for i := range list {
		list[i] = t.Field(i).IsExported()
	}
	fields.Store(t, list)
	return list
}

var fields sync.Map // of []bool by reflect.Type

// ice is what is left of a form.
type ice struct{ left string }

func (i *ice) take(n int) string {
	taken := i.left[:n]
	i.left = i.left[n:]
	return taken
}

func (i *ice) text() string { return i.take(int(i.uint())) }

func (i *ice) uint() (x uint64) {
	for shift := 0; ; shift += 7 {
		b := i.take(1)[0]
		if x |= uint64(b&0x7f) << shift; b < 0x80 {
			return x
		}
	}
}

func (i *ice) int() int64 {
	x := i.uint()
	return int64(x>>1) ^ -int64(x&1)
}

// thaw is the reverse of freeze.
func (i *ice) thaw(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(i.text())
	case reflect.Bool:
		v.SetBool(i.take(1) == "\x01")
	case reflect.Int, reflect.Int8, reflect.Int32, reflect.Int64:
		v.SetInt(i.int())
	case reflect.Uint8, reflect.Uint16, reflect.Uint32:
		v.SetUint(i.uint())
	case reflect.Float64:
		v.SetFloat(math.Float64frombits(binary.LittleEndian.Uint64([]byte(i.take(8)))))
	case reflect.Pointer:
		if i.take(1) == "\x01" {
			v.Set(reflect.New(v.Type().Elem()))
			i.thaw(v.Elem())
		}
	case reflect.Slice:
		if length := int(i.uint()); length > 0 {
			v.Set(reflect.MakeSlice(v.Type(), length-1, length-1))
			for k := range length - 1 {
				i.thaw(v.Index(k))
			}
		}
	case reflect.Struct:
		for k, exported := range exported(v.Type()) {
			if exported {
				i.thaw(v.Field(k))
			}
		}
		if e, ok := v.Addr().Interface().(*Expression); ok {
			e.thawed()
		}
	}
}
