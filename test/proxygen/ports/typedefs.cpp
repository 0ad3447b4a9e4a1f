#include "typedefs_proxy.hpp"
#include "check.hpp"
using namespace typedefs;
struct Component : Port {
    Table t;
    long s = 0;
    Real norm(const Field<Real> &f, Real p) const override { return f[0] * p; }
    Handle make(Field<Real>::size_type n) override { return std::make_shared<Field<Real>>(n, 0.5); }
    const Table &table(Table &&other) override { return t = std::move(other); }
    const long &secret(const long &x, std::map<long, std::string> m) override { s = x + static_cast<long>(m.size()); return s; }
    Callback wrap(Callback c, void (*)(Field<Real> *)) override { return [c](const Field<Real> &f, int i) { return c(f, i) + 1; }; }
};
int main()
{
    check::same<PortProxy, Component>([](Port &p, check::trace &t) {
        t << p.norm({1.5}, 2) << p.make(3)->size() << p.table({{"a", {{1, 2.}}}}).size() << p.secret(4, {{1, "x"}})
          << p.wrap([](const Field<Real> &f, int i) { return f[0] * i; }, nullptr)({2.}, 3);
    });
    check::expect(check::values["secret"]["s"] == 4 && check::values["make"]["n"] == 3, "values");
    return check::failures != 0;
}
