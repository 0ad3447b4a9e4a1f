package trace

import (
	"bytes"
	"errors"
	"path/filepath"
	"testing"

	"marple/analysis/analysistest"
	"marple/analysis/diagnosis"
	"marple/analysis/knowledge"
	"marple/analysis/profile"
	"marple/analysis/record"
	"marple/analysis/run"
)

func sends(r *analysistest.Rank) {
	analysistest.Steps(10_000, func() { r.Compute(10); r.Send(12, 0, 8, 5) }) // the ring is handed over twice, and a rest lies in it
}

// Whatever stands in a file, reading it ends, with an answer.
func FuzzRead(f *testing.F) {
	whole := analysistest.Files(1, 4, sends)[0]
	f.Add(uint32(0), []byte("x"), uint32(0))
	f.Add(uint32(record.TablesSize), []byte{255, 255, 255, 255, 255, 255, 255, 255}, uint32(3))
	f.Add(uint32(record.HeaderSize), bytes.Repeat([]byte{254}, 1<<16), uint32(0))
	f.Fuzz(func(t *testing.T, at uint32, with []byte, cut uint32) {
		data := bytes.Clone(whole)
		copy(data[int(at)%len(data):], with)
		data = data[:len(data)-int(cut)%len(data)]
		p, _ := readRecords(bytes.NewReader(data), int64(len(data)), func(p *record.Process, thread int) { p.Keep(thread, filepath.Join(t.TempDir(), "none")) }, func(int) (spillFile, error) { return nil, errors.New("none") })
		if p != nil {
			diagnosis.Conclude(run.New(profile.FromProcess(p, nil), analysistest.Names{}), knowledge.Library{})
		}
	})
}
