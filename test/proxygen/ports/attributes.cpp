#include "attributes_proxy.hpp"
#include "check.hpp"
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
struct Component : attributes::Port {
    int checked(int i) override { return i + 1; }
    int old(int i) override { return i + 2; }
    void fail(int code) override { throw code; }
    int gnu(const char *p) const override { return p[0]; }
    int unused(int a, int b) override { return a * b; }
    int both() override { return 4; }
    attributes::Old relic(attributes::Old o) override { return {o.i + 6}; }
};
int main()
{
    return check::same<attributes::PortProxy, Component>([](attributes::Port &p, check::trace &t) {
        t << p.checked(1) << p.old(2) << p.gnu("A") << p.unused(3, 4) << p.both() << p.relic({6}).i;
        t.thrown([&] { p.fail(7); });
    });
}
