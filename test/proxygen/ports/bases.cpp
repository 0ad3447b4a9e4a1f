// proxygen: --port bases::Port
#include "bases_proxy.hpp"
#include "check.hpp"
struct Component : bases::Port {
    int f(int i) override { return i + 1; }
    int only_left(int i) override { return i + 2; }
    int both(int i) override { return i + 3; }
    int f(double d) override { return static_cast<int>(d * 10); }
    int only_right(const std::string &s) const override { return static_cast<int>(s.size()); }
    int own() override { return 4; }
    int deeper() override { return 7; }
};
int main()
{
    return check::same<bases::PortProxy, Component>([](bases::Port &p, check::trace &t) {
        bases::Left &l = p;
        bases::Right &r = p;
        bases::Middle &m = p;
        t << l.f(1) << r.f(1.5) << l.only_left(1) << r.only_right("abc") << m.only_right("ab") << l.both(1) << r.both(2) << p.own() << m.deeper()
          << p.deeper() << p.only_left(8);
    });
}
