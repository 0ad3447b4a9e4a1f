#include "noexcepts_proxy.hpp"
#include "check.hpp"
struct Component : noexcepts::Port {
    int i = 0;
    ~Component() override {}
    int plain(int a) noexcept override { return a + 1; }
    int computed(int a) const noexcept override { return a + 2; }
    int old(int a) noexcept override { return a + 3; }
    int may(int a) override { return a ? a : throw std::runtime_error("none"); }
    int trait(long a) override { return a ? static_cast<int>(a) : throw 5; }
    int &reference() & noexcept override { return i; }
    void (*function(void (*f)() noexcept) noexcept)() noexcept override { return f; }
    operator int() const noexcept override { return 7; }
};
int main()
{
    using noexcepts::PortProxy;
    static_assert(noexcept(std::declval<PortProxy &>().plain(1)) && noexcept(std::declval<PortProxy &>().computed(1)));
    static_assert(noexcept(std::declval<PortProxy &>().old(1)) && !noexcept(std::declval<PortProxy &>().may(1)));
    static_assert(!noexcept(std::declval<PortProxy &>().trait(1)) && noexcept(std::declval<PortProxy &>().function(nullptr)));
    return check::same<PortProxy, Component>([](noexcepts::Port &p, check::trace &t) {
        t << p.plain(1) << p.computed(1) << p.old(1) << p.may(1) << p.trait(1) << (&p.reference() == &p.reference()) << static_cast<int>(p);
        t << (p.function(nullptr) == nullptr);
        t.thrown([&] { p.may(0); });
        t.thrown([&] { p.trait(0); });
    });
}
