// proxygen: --port defaults::Derived
#include "defaults_proxy.hpp"
#include "check.hpp"
struct Component : defaults::Derived {
    int plain(int n) override { return n; }
    int many(int a, int b, std::string c, defaults::Mode d, const defaults::Options &e) const override
    {
        return a + b + static_cast<int>(c.size()) + static_cast<int>(d) + 10 * e.b;
    }
    int privately(int n, int m) override { return n + m; }
    int pointers(const char *text, void *p, int (*f)(int)) override { return text[0] + !p + f(-1); }
    int containers(const std::vector<int> &v, std::vector<int> &&w) override { return static_cast<int>(10 * v.size() + w.size()); }
    int overloaded(int a) override { return a; }
    int overloaded(int a, int b, int c) override { return a * b * c; }
    double computed(double x, std::size_t n) & override { return x * static_cast<double>(n); }
    int all(int a, int b) && override { return 10 * a + b; }
};
template <class P> void exercise(P &p, check::trace &t)
{
    t << p.plain() << p.many(1) << p.many(1, 2) << p.many(1, 2, "z") << p.many(1, 2, "z", defaults::Mode::sequential)
      << p.many(1, 2, "z", defaults::Mode::sequential, {3, 4}) << p.privately(1, 2) << p.pointers() << p.pointers("a") << p.containers()
      << p.containers({}) << p.overloaded(3) << p.overloaded(3, 4) << p.overloaded(3, 4, 6) << p.computed() << p.computed(2) << std::move(p).all()
      << std::move(p).all(5);
    t << static_cast<defaults::Port &>(p).plain() << static_cast<defaults::Port &>(p).privately();
}
int main()
{
    Component direct, behind;
    defaults::DerivedProxy proxy(behind);
    check::trace a, b, c;
    exercise<defaults::Derived>(direct, a);
    exercise<defaults::Derived>(proxy, b);
    exercise<defaults::DerivedProxy>(proxy, c); // the proxy's own type has the port's default arguments
    check::expect(a.text() == b.text() && b.text() == c.text(), a.text() + "\n" + b.text() + "\n" + c.text());
    check::all_called(proxy.marple_methods());
    return check::failures != 0;
}
