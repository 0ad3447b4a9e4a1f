#include "references_proxy.hpp"
#include "check.hpp"
struct Component : references::Port {
    std::vector<int> list{1, 2, 3};
    std::string text = "text";
    int &element(std::size_t i) override { return list.at(i); }
    const std::string &name() const override { return text; }
    std::string &&give() override { return std::move(text); }
    void fill(int &a, const int &b, int &&c) override { a = b + c, c = 0; }
    std::string take(std::string &&s, const std::string &&t) override { return std::string(std::move(s)) + t; }
    const int *where(const int &x) const override { return &x; }
    std::vector<int> copy(std::vector<int> v) override { v.push_back(4); return v; }
    void swap(std::string &a, std::string &b) noexcept override { a.swap(b); }
    int *const &pointer(int *const &p) override { return p; }
    void (&call(void (&f)(int &)))(int &) override { return f; }
};
int main()
{
    return check::same<references::PortProxy, Component>([](references::Port &p, check::trace &t) {
        p.element(1) = 20;
        int a = 1, b = 2, c = 3;
        p.fill(a, b, std::move(c));
        std::string s(50, 's'), u = "u", w = "w";
        t << p.element(1) << (&p.element(0) == &p.element(0)) << p.name() << (&p.name() == &p.name()) << a << b << c;
        t << p.take(std::move(s), std::move(u)) << s.empty() << u << (p.where(a) == &a) << p.copy({1, 2}).size();
        p.swap(u, w);
        int *q = &a;
        p.call(*[](int &i) { i *= 2; })(a);
        t << u << w << (&p.pointer(q) == &q) << a << p.element(2);
        t.thrown([&] { p.element(7); });
        std::string taken = p.give();
        t << taken << p.name().empty();
    });
}
