package report

import (
	"fmt"
	"path/filepath"

	"marple/analysis/run"
	"marple/analysis/words"
)

const columnsOfFiles = "%8s %8s %9s %9s %8s  "

// files tells what was done with which file, those with most time first.
func (w *writer) files() {
	f := w.r.Files
	if f == nil || len(f.List) == 0 && f.Others.Ns() == 0 {
		return
	}
	w.line("")
	w.row("file", columnsOfFiles, "read", "written", "calls", "small", "time")
	rows := min(w.most(mostRows), len(f.List))
	for i := range f.List[:rows] {
		name := f.List[i].Path
		if name == "" {
			name = "(its name found no room)"
		}
		if part, calls := f.List[i].Collective(); calls > 0 {
			name = fmt.Sprintf("%s (MPI, %s collective)", filepath.Base(name), words.Percent(part))
		}
		w.file(&f.List[i], name)
	}
	if f.Others.Ns() > 0 {
		w.file(&f.Others, "(others, and calls by name)")
	}
	if len(f.List) > rows {
		w.line("… %s", words.Count(uint64(len(f.List)-rows), "more file", "more files"))
	}
}

func (w *writer) file(f *run.UsedFile, name string) {
	all, read, written := f.Total()
	room := width - words.Width(fmt.Sprintf(columnsOfFiles, "", "", "", "", ""))
	if letters := []rune(words.Clean(name)); len(letters) > room { // the end tells more
		name = "…" + string(letters[len(letters)-room+1:])
	}
	w.row(name, columnsOfFiles, words.Size(float64(read)), words.Size(float64(written)), words.Number(all.Calls), words.Number(all.Small),
		words.Duration(float64(all.Ns)/1e9))
}
