package tauprofile

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// Write writes the file. Names may hold any byte: those that would break it are encoded.
func (f *File) Write(to io.Writer) error {
	w := bufio.NewWriterSize(to, 1<<16)
	fmt.Fprintf(w, "%d templated_functions_MULTI_%s\n", len(f.Timers), metricPart(f.Metric))
	w.WriteString("# Name Calls Subrs Excl Incl ProfileCalls # <metadata>")
	f.attribute(w, Attribute{metricName, f.Metric})
	f.attribute(w, Attribute{escapedNames, escapedPercent})
	for _, a := range f.Metadata {
		if a.Name != metricName && a.Name != escapedNames {
			f.attribute(w, a)
		}
	}
	w.WriteString("</metadata>\n")
	var line []byte
	for i := range f.Timers {
		t := &f.Timers[i]
		line = append(line[:0], '"')
		for j, s := range t.Path {
			if j > 0 {
				line = append(line, arrow...)
			}
			line = append(line, s.text()...)
		}
		line = append(line, '"')
		for _, x := range []float64{t.Calls, t.Subroutines, t.Exclusive, t.Inclusive} {
			line = number(append(line, ' '), x)
		}
		line = append(line, ` 0 GROUP="`...)
		line = append(line, escape(strings.Join(t.Groups, "|"))...)
		line = append(line, "\"\n"...)
		w.Write(line)
	}
	w.WriteString("0 aggregates\n")
	if len(f.Events) > 0 {
		fmt.Fprintf(w, "%d userevents\n# eventname numevents max min mean sumsqr\n", len(f.Events))
	}
	for _, e := range f.Events {
		line = append(line[:0], `"`+escape(e.Name)+`"`...)
		for _, x := range []float64{e.N, e.Max, e.Min, e.Mean, e.SumSquares} {
			line = number(append(line, ' '), x)
		}
		w.Write(append(line, '\n'))
	}
	return w.Flush()
}

// number writes whole numbers as such, which readers insist on for counts, and others with the 16 digits that TAU
// writes.
func number(to []byte, x float64) []byte {
	if x == float64(int64(x)) && x < 1e18 && x > -1e18 {
		return strconv.AppendInt(to, int64(x), 10)
	}
	return strconv.AppendFloat(to, x, 'G', 16, 64)
}

// metricPart is what a metric is called in the first line and in directories' names.
func metricPart(metric string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= '0' && r <= '9', r >= 'A' && r <= 'Z', r >= 'a' && r <= 'z', r == '_', r == '-', r == '.', r == ':':
			return r
		}
		return '_'
	}, metric)
}

// attribute writes metadata. A # stands there as an entity, because readers look for one before the metadata.
func (f *File) attribute(w *bufio.Writer, a Attribute) {
	fmt.Fprintf(w, "<attribute><name>%s</name><value>%s</value></attribute>", markup.Replace(escape(a.Name)), markup.Replace(escape(a.Value)))
}

var markup = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", "#", "&#35;")
