#pragma once
#include <cstdint>
enum GlobalEnum { global_a, global_b = 70000 };
namespace enums {
enum class Color : unsigned char { red, green };
enum Plain { plain_a, plain_b };
enum class Late : int;
enum class Wide : std::uint64_t { top = 0xffffffffffffffffu };
class Port {
public:
    enum Nested { nested_a = -5 };
    enum { unnamed = 3 };
    typedef enum { first, second } OldStyle;
    virtual ~Port() = default;
    virtual Color color(Color c, const Color &d) = 0;
    virtual Plain plain(Plain p, Nested n) const = 0;
    virtual int old(OldStyle o, ::GlobalEnum g) = 0;
    virtual Late *late(Late *l, Late m) = 0;
    virtual Wide wide(Wide w, volatile Wide &v) = 0;
    virtual int array(const int (&a)[unnamed]) = 0;
};
enum class Late : int { late };
}
