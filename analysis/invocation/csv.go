package invocation

import (
	"encoding/csv"
	"fmt"
	"io"
	"os"

	"github.com/parquet-go/parquet-go"
)

// CSV writes a file of invocations as lines: first the columns' names, then a line for each invocation, with nothing where it
// has no value.
func CSV(w io.Writer, file string) (err error) {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	defer func() { // see readFile
		if problem := recover(); problem != nil {
			err = fmt.Errorf("%s: damaged: %v", file, problem)
		}
	}()
	table, err := parquet.OpenFile(f, info.Size())
	if err != nil {
		return fmt.Errorf("%s: not a Parquet file: %w", file, err)
	}
	var names []string
	for _, field := range table.Schema().Fields() {
		if !field.Leaf() {
			return fmt.Errorf("%s: column %s is no plain one: not written by Marple", file, field.Name())
		}
		names = append(names, field.Name())
	}
	out := csv.NewWriter(w)
	if err := out.Write(names); err != nil {
		return err
	}
	line := make([]string, len(names))
	err = rowsOf(table, func(values map[int]parquet.Value) {
		for i := range line {
			line[i] = text(values, i)
		}
		out.Write(line) // whose error stays
	})
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	out.Flush()
	return out.Error()
}
