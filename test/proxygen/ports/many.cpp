// proxygen: --skip quiet --skip many::Port::silent
#include "many_proxy.hpp"
#include "check.hpp"
struct Component : many::Port {
    int calls = 0;
    long all(bool a, char b, signed char c, unsigned char d, short e, unsigned short f, int g, unsigned h, long i, unsigned long j, long long k, std::uint64_t l, float m,
             double n, long double o, wchar_t p, char16_t q, char32_t r, std::int8_t s, const std::string &t) override
    {
        return a + b + c + d + e + f + g + static_cast<long>(h) + i + static_cast<long>(j) + static_cast<long>(k) + static_cast<long>(l) + static_cast<long>(m) +
               static_cast<long>(n) + static_cast<long>(o) + static_cast<long>(p) + q + static_cast<long>(r) + s + static_cast<long>(t.size());
    }
    void reset() override { calls++; }
    int quiet(int n) override { return n + calls; }
    int silent(int n) const override { return n * 2; }
};
int main()
{
    check::same<many::PortProxy, Component>([](many::Port &p, check::trace &t) {
        p.reset();
        t << p.all(true, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13.5F, 14.5, 15.5L, L'\x10', u'\x11', U'\x12', 19, "twenty") << p.quiet(1) << p.silent(2);
    });
    check::expect(!check::calls.count("quiet") && !check::calls.count("silent"), "skipped functions are recorded");
    Component c;
    many::PortProxy proxy(c);
    check::expect(proxy.marple_methods().monitor("reset", false) && !proxy.marple_methods().monitor("quiet", true), "monitor");
    int before = check::calls["reset"];
    proxy.reset();
    proxy.marple_methods().monitor("reset", true);
    proxy.reset();
    check::expect(check::calls["reset"] == before + 1, "switching off");
    return check::failures != 0;
}
