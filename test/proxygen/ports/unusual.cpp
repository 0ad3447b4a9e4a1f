// proxygen: --port unusual::Über --port 'unusual::Outer<std::string>::Port'
// omitted: unusual::Über::constant(const int, const std::string, const std::unique_ptr<int>, int *const): const std::unique_ptr<int> is passed by value, and can be neither moved nor copied
// omitted: unusual::Über::anonymous: a data member: the proxy has one of its own
#include "unusual_proxy.hpp"
#include "check.hpp"
struct Component : unusual::Über {
    int i = 3;
    int typed(int a, double b) const override { return static_cast<int>(a * b); }
    int größe(int länge) override { return länge + 1; }
    int a() override { return i; }
    int *b(int n) override { i = n; return &i; }
    int &c() const override { return const_cast<int &>(i); }
    int constant(const int n, const std::string, const std::unique_ptr<int>, int *const) override { return n; }
    void nx(int x) noexcept override { i += x; }
    std::chrono::duration<double, std::milli> duration(std::chrono::microseconds n) override { return n; }
    std::variant<int, std::string> variant(std::optional<std::pair<int, char>> o) override { return o ? std::variant<int, std::string>(o->first) : "none"; }
    std::bitset<64> bits(std::bitset<3> b) override { return b.to_ulong() << 40; }
    std::pair<const char *const *, void (*)(int)> pair(char *const argv[]) override { return {argv, nullptr}; }
    int nameless(decltype(anonymous) &x) override { return x.x; }
};
struct Text : unusual::Outer<std::string>::Port { std::string get(const std::string &t, unusual::Outer<std::string> *) override { return t + t; } };
int main()
{
    check::same<unusual::Outer_std_string_PortProxy, Text>([](auto &p, check::trace &t) { t << p.get("ab", nullptr); });
    return check::same<unusual::ÜberProxy, Component>([](unusual::Über &p, check::trace &t) {
        p.nx(4);
        t << p.typed(2, 2.5) << p.größe(6) << p.a() << *p.b(7) << p.c() << p.duration(std::chrono::microseconds(1500)).count() << p.variant({}).index()
          << std::get<int>(p.variant(std::pair<int, char>(8, 'x'))) << p.bits(5).count() << (p.pair(nullptr).first == nullptr) << p.nameless(p.anonymous);
    });
}
