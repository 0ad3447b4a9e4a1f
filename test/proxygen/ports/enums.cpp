#include "enums_proxy.hpp"
#include "check.hpp"
using namespace enums;
struct Component : Port {
    Color color(Color c, const Color &d) override { return c == d ? Color::red : Color::green; }
    Plain plain(Plain p, Nested n) const override { return n == nested_a ? p : plain_a; }
    int old(OldStyle o, ::GlobalEnum g) override { return o + g; }
    Late *late(Late *l, Late) override { return l; }
    Wide wide(Wide w, volatile Wide &) override { return w; }
    int array(const int (&a)[unnamed]) override { return a[2]; }
};
int main()
{
    check::same<PortProxy, Component>([](Port &p, check::trace &t) {
        volatile Wide v = Wide::top;
        Late l{};
        t << static_cast<int>(p.color(Color::green, Color::red)) << p.plain(plain_b, Port::nested_a) << p.old(Port::second, global_b)
          << (p.late(&l, l) == &l) << (p.wide(Wide::top, v) == Wide::top) << p.array({1, 2, 3});
    });
    auto &v = check::values;
    check::expect(v["color"]["c"] == 1 && v["plain"]["n"] == -5 && v["old"]["g"] == 70000 && v["wide"]["w"] > 1.8e19, "enumerators");
    check::expect(v["wide"].size() == 1, "what is volatile is not read");
    return check::failures != 0;
}
