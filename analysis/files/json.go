package files

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
)

// JSONError adds line and column to an error of the JSON decoder, which has read up to an offset.
func JSONError(data []byte, offset int64, err error) error {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	field, unknown := strings.CutPrefix(err.Error(), "json: unknown field ") // the only one without a type, and a place, of its own
	switch {
	case errors.As(err, &syntax):
		offset = syntax.Offset
	case errors.As(err, &kind):
		offset = kind.Offset
		err = fmt.Errorf("expected %s, found %s", expected(kind.Type), kind.Value)
		if kind.Field != "" {
			err = fmt.Errorf("%s: %w", kind.Field, err)
		}
	case unknown:
		offset, err = int64(bytes.Index(data, []byte(field)))+1, fmt.Errorf("unknown key %s", field)
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		offset, err = int64(len(data)), errors.New("the text ends too early")
	}
	if offset < 0 || offset > int64(len(data)) {
		return err
	}
	before := data[:offset]
	line := bytes.Count(before, []byte("\n")) + 1
	column := len(before) - bytes.LastIndexByte(before, '\n') - 1
	return fmt.Errorf("%d:%d: %w", line, max(column, 1), err)
}

func expected(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Slice, reflect.Array:
		return "a list"
	case reflect.Map, reflect.Struct:
		return "an object"
	case reflect.String:
		return "a text"
	}
	return "a number"
}
