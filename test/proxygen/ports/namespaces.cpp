// proxygen: --port outer::inner::Port --port ::outer::other::Derived --port GlobalPort --port outer::Shadowed --port Unnamed
// omitted: outer::other::Derived::k: a data member: the proxy has one of its own
#include "namespaces_proxy.hpp"
#include "check.hpp"
struct Component : outer::other::Derived {
    outer::inner::Thing twice(outer::inner::Thing t, outer::Thing o) override { return {t.i * o.i, t.j * o.i}; }
    int more(const outer::inner::Thing &t, outer::other::inner::Thing u) override { return t.i + u.k; }
};
struct Global : GlobalPort { outer::Thing make(int i) override { return {i + 1}; } };
struct Shadow : outer::Shadowed {
    outer::std::string text(outer::std::string s) override { return {s.i + 1}; }
    int number(int i) override { return i + 2; }
};
struct Nameless : Unnamed { int f(int i) override { return i + 3; } };
int main()
{
    check::same<outer::inner::PortProxy, Component>([](outer::inner::Port &p, check::trace &t) { t << p.twice({1, 2}, {3}).j; });
    check::same<outer::other::DerivedProxy, Component>([](outer::other::Derived &p, check::trace &t) { t << p.twice({4, 5}, {6}).i << p.more({7, 8}, {9}); });
    check::same<GlobalPortProxy, Global>([](GlobalPort &p, check::trace &t) { t << p.make(4).i; });
    check::same<outer::ShadowedProxy, Shadow>([](outer::Shadowed &p, check::trace &t) { t << p.text({4}).i << p.number() << p.number(1); });
    return check::same<UnnamedProxy, Nameless>([](Unnamed &p, check::trace &t) { t << p.f(1); });
}
