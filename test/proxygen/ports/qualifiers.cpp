#include "qualifiers_proxy.hpp"
#include "check.hpp"
struct Component : qualifiers::Port {
    int plain(int i) override { return i + 1; }
    int constant(int i) const override { return i + 2; }
    int shaky(int i) volatile override { return i + 3; }
    int both(int i) const volatile override { return i + 4; }
    int lvalue(int i) & override { return i + 5; }
    int rvalue(int i) && override { return i + 6; }
    int each(int i) & override { return i + 7; }
    int each(int i) const & override { return i + 8; }
    int each(int i) && override { return i + 9; }
    int each(int i) const && override { return i + 10; }
    int volatiles(int i) & override { return i + 11; }
    int volatiles(int i) volatile & noexcept override { return i + 12; }
};
int main()
{
    return check::same<qualifiers::PortProxy, Component>([](qualifiers::Port &p, check::trace &t) {
        const qualifiers::Port &c = p;
        volatile qualifiers::Port &v = p;
        t << p.plain(10) << c.constant(10) << v.shaky(10) << v.both(10) << p.lvalue(10) << std::move(p).rvalue(10) << p.each(10)
          << c.each(10) << std::move(p).each(10) << std::move(c).each(10) << p.volatiles(10) << v.volatiles(10);
    });
}
