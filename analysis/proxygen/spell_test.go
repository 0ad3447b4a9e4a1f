package proxygen

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestDeclare(t *testing.T) {
	for _, c := range []struct{ typ, want string }{
		{"int", "int x"},
		{"const std::string &", "const std::string &x"},
		{"int *const", "int *const x"},
		{"std::vector<std::pair<int, double>>", "std::vector<std::pair<int, double>> x"},
		{"int (&)[3]", "int (&x)[3]"},
		{"double (*)[7]", "double (*x)[7]"},
		{"int (*)(int, const char *) noexcept", "int (*x)(int, const char *) noexcept"},
		{"int (*const)(int)", "int (*const x)(int)"},
		{"int ns::Port::Nested::*", "int ns::Port::Nested::*x"},
		{"int (ns::Port<int>::*)(int) const", "int (ns::Port<int>::*x)(int) const"},
		{"int (*(*)(int))[3]", "int (*(*x)(int))[3]"},
		{"void (*(*)(int, void (*)(int)))(double)", "void (*(*x)(int, void (*)(int)))(double)"},
		{"std::function<int (const std::string &)>", "std::function<int (const std::string &)> x"},
		{"void (&&)(int)", "void (&&x)(int)"},
		{"decltype(nullptr)", "decltype(nullptr) x"},
		{"std::array<int, (3 > 2)>", "std::array<int, (3 > 2)> x"},
		{"int (*(&)[2])(int)", "int (*(&x)[2])(int)"},
	} {
		require.Equal(t, c.want, declare(c.typ, "x"))
	}
}

func TestSplitFunction(t *testing.T) {
	for _, c := range []struct{ typ, before, arguments, after string }{
		{"int (int, std::string) const &", "int ", "(int, std::string)", " const &"},
		{"int (*(int))(double)", "int (*", "(int)", ")(double)"},
		{"int (&())[3]", "int (&", "()", ")[3]"},
		{"ns::Map &(ns::Map &&, std::unique_ptr<int>) volatile", "ns::Map &", "(ns::Map &&, std::unique_ptr<int>)", " volatile"},
		{"std::function<int (const std::string &)> (std::function<void (int)>)",
			"std::function<int (const std::string &)> ", "(std::function<void (int)>)", ""},
		{"auto (int) -> decltype(1.)", "auto ", "(int)", " -> decltype(1.)"},
		{"decltype(nullptr) (int)", "decltype(nullptr) ", "(int)", ""},
		{"void () noexcept(sizeof(int) == 4)", "void ", "()", " noexcept(sizeof(int) == 4)"},
		{"int (ns::A::*(int))(double)", "int (ns::A::*", "(int)", ")(double)"},
	} {
		before, arguments, after, ok := splitFunction(c.typ)
		require.True(t, ok)
		require.Equal(t, [3]string{c.before, c.arguments, c.after}, [3]string{before, arguments, after})
	}
	_, _, _, ok := splitFunction("int (&)[3]")
	require.False(t, ok)
	require.Equal(t, []string{"int", "std::map<int, int>", "void (*)(int, int)"}, splitArguments("(int, std::map<int, int>, void (*)(int, int))"))
	require.Empty(t, splitArguments("(void)"))
}

func TestRooted(t *testing.T) {
	for typ, want := range map[string]string{
		"std::vector<ns::Real> const&": "::std::vector<::ns::Real> const&",
		"unsigned long":                "unsigned long",
		"Global":                       "::Global",
		"int (ns::X::*)(std::string)":  "int (::ns::X::*)(::std::string)",
		"ns::N<5ul, (ns::E)1>":         "::ns::N<5ul, (::ns::E)1>",
	} {
		require.Equal(t, want, rooted(typ))
	}
}

func TestLastName(t *testing.T) {
	for name, want := range map[string]string{
		"Port": "Port", "ns::Port": "Port", "ns::Port<ns::Real>": "Port", "ns::Outer<int>::Inner": "Inner", "ns::Port<std::pair<a::b, c::d>>": "Port",
	} {
		require.Equal(t, want, lastName(name))
	}
}

// Whatever a compiler prints, these must come to an end without a panic.
func FuzzSpell(f *testing.F) {
	for _, seed := range []string{"int (*(*)(int))[3]", "a<b, c>::d (e::*)(f) const &", "decltype(x) (&", ">)]}(<[{", "'\\", "auto (int) -> decltype(1.)"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if named := declare(text, "x"); len(named) <= len(text) {
			t.Errorf("%q: the name is lost in %q", text, named)
		}
		if before, arguments, after, ok := splitFunction(text); ok && before+arguments+after != text {
			t.Errorf("%q was not taken apart but changed", text)
		}
		splitArguments(text)
		splitName(text)
		rooted(text)
		if len(lastName(text)) > len(text) {
			t.Errorf("%q has a longer last name", text)
		}
		closing(text)
		definedClasses(text)
		readSignature(text)
		ParseParameter(text)
	})
}
