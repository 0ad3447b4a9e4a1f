package selection

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"marple/analysis/formula"
)

// What the C++ classes predict is what the models say.
func TestMembersPredictWhatTheModelsDo(t *testing.T) {
	compiler, err := exec.LookPath("g++")
	if err != nil {
		require.NotEqual(t, "1", os.Getenv("CI"), "g++ is not installed, and CI=1")
		t.Skip("g++ is not installed")
	}
	plan, err := ParsePlan("f.yaml", []byte(`
unit: ms
machine: {clock: 2.5}
qualities: {"accuracy-\"of\"-it": {rule: min}}
families:
  double:
    implementations:
      "1 a++":
        time: -963 + 0.315*n^2/clock - 2^3^2 + 1/4*n^(1/4) - -n + abs(-3)
        deviation: sqrt(n) * (n - (1 - n)) / 2
        qualities: {"accuracy-\"of\"-it": 0.5}
      b:
        methods:
          run: {time: "if(n < 20 and x >= 3 or x == 1, min(n, x, 7), max(n, 1e3*x))"}
          "int": {time: "exp(x/100)*log(n) + log2(n)*log10(n) - floor(x)*ceil(n)"}
          "a\\\"?b": {time: 1}
        deviation: 1
        time: "`+"`long`*`a.b`*`a::b`*`a b`"+`"
`))
	require.NoError(t, err)
	code, err := plan.Members()
	require.NoError(t, err)

	directory := t.TempDir()
	var program strings.Builder
	program.WriteString("#include <cstdio>\n#include \"members.hpp\"\nstatic void show(modeling::AbstractFamilyMember &&m, const char *method, std::vector<double> in)\n" +
		"{\n    std::map<std::string, double> p;\n    int code = m.getPerfPrediction(in, method, p);\n    std::printf(\"{\\\"code\\\": %d\", code);\n" +
		"    for (auto &x : p)\n        std::printf(\", \\\"%s\\\": %.17g\", x.first[0] == 'a' ? \"accuracy\" : x.first.c_str(), x.second);\n    std::puts(\"}\");\n}\nint main()\n{\n")
	var want []map[string]float64
	random := rand.New(rand.NewPCG(1, 2))
	for k, i := range plan.Families[0].Implementations {
		class := []string{"double_1_a_member", "double_b_member"}[k]
		require.Contains(t, code, "class "+class+" : public virtual AbstractFamilyMember")
		var inputs []string
		for _, e := range i.methods {
			inputs = append(inputs, e.parameters()...)
		}
		slices.Sort(inputs)
		inputs = slices.DeleteFunc(slices.Compact(inputs), func(name string) bool { return name == "clock" })
		for method, e := range i.methods {
			for range 12 {
				at, values := map[string]float64{"clock": 2.5}, []string{}
				for _, name := range inputs {
					at[name] = math.Round(random.Float64()*1000)/20 + 1
					values = append(values, fmt.Sprint(at[name]))
				}
				fmt.Fprintf(&program, "    show(modeling::%s(), %s, {%s});\n", class, quote(method), strings.Join(values, ", "))
				one := map[string]float64{"code": 0}
				for key, f := range map[string]*formula.Expr{"Exec. Time": e.time, "Deviation": e.deviation} {
					if f != nil {
						x, err := f.Eval(at)
						require.NoError(t, err)
						one[key] = x * 1e-3
					}
				}
				for _, x := range i.qualities {
					one["accuracy"] = x
				}
				want = append(want, one)
			}
		}
		fmt.Fprintf(&program, "    show(modeling::%s(), \"run\", {});\n", class)
		want = append(want, map[string]float64{"code": -1})
	}
	program.WriteString("}\n")
	require.NoError(t, os.WriteFile(filepath.Join(directory, "members.hpp"), []byte(code), 0o666))
	require.NoError(t, os.WriteFile(filepath.Join(directory, "main.cpp"), []byte(program.String()), 0o666))
	binary := filepath.Join(directory, "main")
	out, err := exec.Command(compiler, "-std=c++17", "-O0", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-I../../cshim/include", "-o", binary,
		filepath.Join(directory, "main.cpp")).CombinedOutput()
	require.NoError(t, err, "%s\n%s", out, code)
	out, err = exec.Command(binary).Output()
	require.NoError(t, err)
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	require.Len(t, lines, len(want))
	for i, line := range lines {
		var got map[string]float64
		require.NoError(t, json.Unmarshal([]byte(line), &got), line)
		require.Len(t, got, len(want[i]))
		for key, x := range want[i] {
			require.InDelta(t, x, got[key], 1e-12*max(1, math.Abs(x)), "%s %s", key, line)
		}
	}
}
