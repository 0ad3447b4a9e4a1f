package proxygen

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestDefinedClasses(t *testing.T) {
	require.Equal(t, []string{"a::b::Port", "a::b::Port::Inner", "a::Last", "Global"}, definedClasses(`
extern "C" { int f(struct Argument *); }
namespace a::b {
class Forward;
class __attribute__((visibility("default"))) Port final : public Base<int, ')'> {
public:
    enum class Kind : int { none };
    struct Inner { int i{}; };
    Result make() { struct Local {}; return {}; } // struct Comment {
    template <class T> struct Hidden { struct Deeper {}; };
    const char *s = "struct Text {", *r = R"(class Raw {)";
};
}
namespace a {
template <> struct Special<int> { class No {}; };
inline namespace {
}
struct alignas(16) Last : Port { union { int i; } u; };
}
struct Global {} global;
`))
}

func TestOwnLines(t *testing.T) {
	require.Equal(t, "own\nmore\n", ownLines("# 1 \"<built-in>\"\nother\n# 1 \"/a/b.hpp\" 1\nown\n# 3 \"/a/c.hpp\" 1 3\nforeign\n# 2 \"/a/b.hpp\" 2\nmore\n", "/a/b.hpp"))
}
