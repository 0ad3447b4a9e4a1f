package diagnosis

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"marple/analysis/knowledge"
)

// Every built-in model comes with a script that says what it must conclude.
func TestScriptsOfBuiltinKnowledge(t *testing.T) {
	for _, name := range knowledge.Names() {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join("../knowledge/models", name+".test")
			data, err := os.ReadFile(file)
			require.NoError(t, err)
			s, err := ParseScript(file, data)
			require.NoError(t, err)
			for _, wrong := range s.Run(knowledge.Library{}) {
				t.Error(wrong)
			}
		})
	}
}

const wrongScript = `# what goes wrong, and where
knowledge pipeline
case wrong expectations
    given stages = 8
    given stage_share = 30 %
    given slowness = 1
    given fill_share = 2 %
    holds stages-differ
    rejects stages-wait
    rejects pipeline-not-full because slowness
    unknown stages-wait
    holds nonsense
case wrong facts
    given nonsense = 3
    given stages = 8 s
    given stages = many
    set nonsense = 3
    set least = 3 s
    run nowhere
`

func TestScriptsFailWhereTheyAreWrong(t *testing.T) {
	s, err := ParseScript("x.test", []byte(wrongScript))
	require.NoError(t, err)
	var got []string
	for _, p := range s.Run(knowledge.Library{}) {
		got = append(got, p.Error())
	}
	require.Equal(t, []string{
		"x.test:8:1: wrong expectations: stages-differ is rejected, not as expected: slowness = 1, not ≥ 1.2 (uneven)",
		"x.test:9:1: wrong expectations: stages-wait holds, not as expected: stages = 8, > 1 (one); stage_share = 30 %, ≥ 5 % (least)",
		"x.test:10:1: wrong expectations: pipeline-not-full is rejected, but not because of slowness: fill_share = 2 %, not ≥ 5 % (least)",
		"x.test:11:1: wrong expectations: stages-wait holds, not as expected: stages = 8, > 1 (one); stage_share = 30 %, ≥ 5 % (least)",
		"x.test:12:1: wrong expectations: no fact nonsense",
		"x.test:14:1: wrong facts: pipeline has no metric nonsense",
		`x.test:15:1: wrong facts: stages is in count; "8 s" is in s`,
		`x.test:16:1: wrong facts: "many" is no quantity; expected a number with %, s, ms, µs, ns, B, KiB, MiB, GiB, /s, B/s, or nothing`,
		"x.test:17:1: wrong facts: unknown threshold \"nonsense\"; expected one of enough, half, least, moment, one, overlapping, turning, uneven",
		`x.test:18:1: wrong facts: threshold least is in share; "3 s" is in s`,
		"x.test:19:1: wrong facts: stat nowhere: no such file or directory",
	}, got)
}

func TestScriptsAreReadOrRefused(t *testing.T) {
	for text, want := range map[string]string{
		"case x\n":                               "x.test:1:1: a case before  knowledge NAME",
		"knowledge pipeline\n  holds x\n":        "x.test:2:3: expected  case TEXT  first",
		"knowledge pipeline\ncase x\nholds y\n":  "x.test:3:1: expected  knowledge NAME  or  case TEXT",
		"knowledge pipeline\ncase x\n  hold y\n": "x.test:3:3: expected  given METRIC = QUANTITY",
		"knowledge pipeline\ncase x\n given y\n": "x.test:3:2: expected  given METRIC = QUANTITY",
	} {
		_, err := ParseScript("x.test", []byte(text))
		require.ErrorContains(t, err, want, text)
	}
	s, err := ParseScript("x.test", []byte("knowledge no-such-model\ncase x\n holds y\n"))
	require.NoError(t, err)
	require.ErrorContains(t, s.Run(knowledge.Library{}), `unknown model "no-such-model"`)
}

func FuzzScript(f *testing.F) {
	f.Add([]byte(wrongScript))
	f.Fuzz(func(t *testing.T, data []byte) {
		if s, err := ParseScript("f.test", data); err == nil && len(s.Cases) < 5 {
			s.Run(knowledge.Library{})
		}
	})
}
