package symbol

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestReadableName(t *testing.T) {
	for symbol, want := range map[string]string{
		// C
		"":                         "",
		"main":                     "main",
		"_start":                   "_start",
		"__libc_start_main":        "__libc_start_main",
		"memcpy@@GLIBC_2.14":       "memcpy",
		"work.part.0":              "work",
		"work.constprop.0":         "work",
		"work.isra.0.cold":         "work",
		"work.constprop.0.isra.0":  "work",
		"work.lto_priv.12":         "work",
		"work.llvm.1234567":        "work",
		"work.localalias":          "work",
		"work._omp_fn.0":           "work [omp 0]",
		"work._omp_fn.12":          "work [omp 12]",
		"work._omp_fn.1.cold":      "work [omp 1]",
		"work.omp_outlined":        "work [omp]",
		"work.omp_outlined.3":      "work [omp 3]",
		".omp_outlined.":           "[omp]",
		".omp_outlined..7":         "[omp 7]",
		".omp_outlined._debug__":   "[omp]",
		".omp_outlined._debug__.2": "[omp 2]",
		"inner.0":                  "inner.0", // could be anything
		"memcpy.avx512":            "memcpy.avx512",
		"a.cold.b":                 "a.cold.b",
		".":                        ".",
		"...":                      "...",
		".cold":                    ".cold",

		// C++
		"_ZN9LAMMPS_NS6Verlet3runEi":              "LAMMPS_NS::Verlet::run",
		"_ZN9LAMMPS_NS6VerletC2EPNS_6LAMMPSEiPPc": "LAMMPS_NS::Verlet::Verlet",
		"_ZN9LAMMPS_NS6VerletD0Ev":                "LAMMPS_NS::Verlet::~Verlet",
		"_Z3fooPi._omp_fn.0":                      "foo [omp 0]",
		"_Z3fooPi.constprop.0":                    "foo",
		"_Z3foov.arch_haswell.0":                  "foo.arch_haswell.0",
		"_ZN12_GLOBAL__N_13runEv":                 "(anonymous namespace)::run",
		"_Z5twiceIdET_S0_":                        "twice<double>",
		"_ZZ4mainENKUlvE_clEv":                    "main::{lambda()#1}::operator()",
		"_ZZN3geo5applyEiENK3$_0clEi":             "geo::apply::$_0::operator()",
		"_ZlsRSoRK1A":                             "operator<<",
		"_ZN1AcviEv":                              "A::operator int",
		"_ZNK1AclEv":                              "A::operator()",
		"_ZTv0_n24_N1AD1Ev":                       "virtual thunk to A::~A",
		"_GLOBAL__sub_I_main":                     "_GLOBAL__sub_I_main",
		"_ZNSt6vectorIiSaIiEE9push_backERKi":      "std::vector<int, std::allocator<int> >::push_back",
		"_ZNSt3mapINSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEEiSt4lessIS5_ESaISt4pairIKS5_iEEEixERS9_": "std::map<…>::operator[]",
		"_ZStlsIcSt11char_traitsIcESaIcEERSt13basic_ostreamIT_T0_ES7_RKNSt7__cxx1112basic_stringIS4_S5_T1_EE":   "std::operator<< <char, std::char_traits<char>, std::allocator<char> >",
		"_ZNK3fooB5cxx113barEv": "foo::bar",
		"_Znot_mangled":         "_Znot_mangled",
		"_Z":                    "_Z",

		// Rust
		"_ZN4core3fmt9Formatter3pad17h0123456789abcdefE": "core::fmt::Formatter::pad",
		"_RNvCs15kBYyAo9fc_7mycrate7example":             "mycrate::example",

		// Fortran
		"__solver_MOD_step":           "solver::step",
		"__solver_MOD_step._omp_fn.2": "solver::step [omp 2]",
		"MAIN__":                      "MAIN",
		"dgemm_":                      "dgemm_", // may be C
		"_QMsolverPstep":              "solver::step",
		"_QMsolverFstepPinner":        "solver::step::inner",
		"_QPdgemm":                    "dgemm",
		"_QQmain":                     "MAIN",
		"_Quit":                       "_Quit",
		"_QM":                         "_QM",
		"__MOD_x":                     "__MOD_x",
		"__x_MOD_":                    "__x_MOD_",
	} {
		assert.Equal(t, want, readableName(symbol), symbol)
	}
}

func TestShortenTemplates(t *testing.T) {
	long := strings.Repeat("x", 70)
	for name, want := range map[string]string{
		"a<" + long + ">::f":                      "a<…>::f",
		"a<int>::f<" + long + ">":                 "a<int>::f<…>",
		"a<" + long + ">::operator<":              "a<…>::operator<",
		"a<" + long + ">::operator<< <int>":       "a<…>::operator<< <int>",
		"a<" + long + ">::operator-><int>":        "a<…>::operator-><int>",
		"a<b<" + long + "> >::f":                  "a<…>::f",
		"myoperator<" + long + ">":                "myoperator<…>",
		"a<" + long:                               "a<" + long,
		"a>" + long:                               "a>" + long,
		"f<decltype (a->b)" + long + ">":          "f<…>",
		long + "<int, float>":                     long + "<int, float>",
		"a<" + long + ", &b::operator> >::f<int>": "a<…>::f<int>",
	} {
		assert.Equal(t, want, limitName(name))
	}
	assert.LessOrEqual(t, len(limitName(strings.Repeat("é", 1000))), maxName+len("…"))
	assert.True(t, utf8.ValidString(limitName("x"+strings.Repeat("é", 1000))))
}

func TestCleanText(t *testing.T) {
	for text, want := range map[string]string{
		"":            "",
		"plain":       "plain",
		"größe":       "größe",
		"a\x1b[31mb":  "a?[31mb",
		"a\nb\tc\x7f": "a?b?c?",
		"\xff\xfe":    "??",
		"\u009b":      "?",
	} {
		assert.Equal(t, want, cleanText([]byte(text)))
	}
	assert.Len(t, cleanText(make([]byte, maxText+10)), maxText)
}

func TestPaths(t *testing.T) {
	for _, test := range []struct{ dir, path, want string }{
		{"/a", "b.c", "/a/b.c"},
		{"/a/", "./b.c", "/a/b.c"},
		{"/a", "/b.c", "/b.c"},
		{"/a", "../b.c", "/a/../b.c"},
		{"", "b.c", "b.c"},
		{".", "b.c", "b.c"},
		{"/a", ".//b.c", "/a/b.c"},
		{"/a", "...", "/a/..."},
	} {
		assert.Equal(t, test.want, joinPath(test.dir, test.path))
	}
	assert.Equal(t, "b.c", Short("/a/b.c"))
	assert.Equal(t, "", Short(""))
}

func TestLocationString(t *testing.T) {
	for want, l := range map[string]Location{
		"libfoo.so+0x1234": {Frames: []Frame{{}}, Module: "/lib/libfoo.so", Offset: 0x1234},
		"libfoo.so+0x0":    {Module: "libfoo.so"},
		"f":                {Frames: []Frame{{Function: "f"}}},
		"? (a.c:3)":        {Frames: []Frame{{File: "/x/a.c", Line: 3}}},
		"f (a.c)":          {Frames: []Frame{{Function: "f", File: "a.c"}}},
		"f (a.c:1) inlined in g (b.c:2)": {Frames: []Frame{
			{Function: "f", File: "a.c", Line: 1, Inlined: true}, {Function: "g", File: "b.c", Line: 2}}},
	} {
		require.Equal(t, want, l.String())
	}
}

func FuzzReadableName(f *testing.F) {
	for _, s := range []string{
		"_ZN9LAMMPS_NS6Verlet3runEi", "_ZStlsIcSt11char_traitsIcESaIcEERSt13basic_ostreamIT_T0_ES7_RKNSt7__cxx1112basic_stringIS4_S5_T1_EE",
		"__solver_MOD_step._omp_fn.2", ".omp_outlined._debug__.2", "_QMsolverFstepPinner", "_RNvCs15kBYyAo9fc_7mycrate7example",
		"_ZZN3geo5applyEiENK3$_0clEi", "_ZTv0_n24_N1AD1Ev", "a<b>::operator-><c>", "_GLOBAL__sub_I_main",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, symbol string) {
		name := readableName(symbol)
		if len(name) > maxName+30+len(symbol)/2 && len(name) > len(symbol) {
			t.Errorf("%q is long", name)
		}
		limitName(symbol)
		isPlain(symbol)
	})
}
