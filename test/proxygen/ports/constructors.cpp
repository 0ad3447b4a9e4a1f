// omitted: constructors::Copied::name() const: not virtual: calls run on the proxy itself
#include "constructors_proxy.hpp"
#include "check.hpp"
struct Named : constructors::Copied {
    Named() : Copied("name") {}
    int f(int i) override { return i + 1; }
};
struct Sum : constructors::Argument {
    Sum() : Argument(1, 2) {}
    int f(int i) override { return i + 2; }
};
struct Hidden : constructors::Hidden { int f(int i) override { return i + 3; } };
struct SumProxy : constructors::ArgumentProxy { explicit SumProxy(Sum &s) : ArgumentProxy(s, 1, 2) {} };
int main()
{
    check::same<constructors::CopiedProxy, Named>([](constructors::Copied &p, check::trace &t) { t << p.f(1) << p.name(); });
    check::same<SumProxy, Sum>([](constructors::Argument &p, check::trace &t) { t << p.f(1) << p.sum(); });
    return check::same<constructors::HiddenProxy, Hidden>([](constructors::Hidden &p, check::trace &t) { t << p.f(1); });
}
