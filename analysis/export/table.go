package export

import (
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
	"strings"

	"marple/analysis/run"
)

// CSV writes a row per call path and rank that spent time there. A name that a spreadsheet would take for a formula
// begins with an apostrophe. What the times are is a column: not all readers know comments.
func CSV(w io.Writer, r *run.Run) error {
	roots, err := frames(r)
	if err != nil {
		return err
	}
	out := csv.NewWriter(w)
	row := []string{"path", "name", "kind", "called_at_file", "called_at_line", "rank", "calls", "exclusive_s", "inclusive_s", "time_base"}
	if err := out.Write(row); err != nil {
		return err
	}
	base := plain(r.TimeBase())
	var list []*frame
	var paths []string
	walk(roots, func(f *frame) {
		list = append(list, f)
		if f.parent == nil {
			paths = append(paths, f.label())
		} else {
			paths = append(paths, paths[f.parent.index]+" > "+f.label())
		}
	})
	for _, b := range r.PerRank {
		for i, v := range byRank(r, roots, int32(b.Rank)) {
			if v == (values{}) {
				continue
			}
			f, line := list[i], ""
			if f.line > 0 {
				line = fmt.Sprint(f.line)
			}
			row = append(row[:0], text(paths[i]), text(f.name), f.kind, text(f.file), line, fmt.Sprint(b.Rank), fmt.Sprint(v.calls),
				decimal(v.exclusive), decimal(v.inclusive), base)
			if err := out.Write(row); err != nil {
				return err
			}
		}
	}
	out.Flush()
	return out.Error()
}

// decimal is nanoseconds as seconds, exactly.
func decimal(ns uint64) string {
	return strconv.FormatUint(ns/1e9, 10) + "." + fmt.Sprintf("%09d", ns%1e9)
}

func text(s string) string {
	if strings.IndexAny(s, "=+-@") == 0 {
		return "'" + s
	}
	return s
}
