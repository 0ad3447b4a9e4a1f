// omitted: members::Port::data: a data member: the proxy has one of its own
// omitted: members::Port::shared(int): static: it is called without an object
// omitted: members::Port::f(const std::string &): not virtual: calls run on the proxy itself
// omitted: members::Port::f<...>: a template: it cannot be virtual
// omitted: members::Port::deleted(int): deleted
#include "members_proxy.hpp"
#include "check.hpp"
struct Component : members::Port {
    using Port::f;
    int f(int i) override { return i * 2; }
};
int main()
{
    check::same<members::PortProxy, Component>([](auto &p, check::trace &t) { t << p.f(1) << p.f(std::string("abc")) << p.f(1.5, 2.5) << p.f() << p.data << (p == p); });
    return check::same<members::PortProxy, Component>([](members::Port &p, check::trace &t) { t << p.f(1) << p.f("abcd") << p.f(1, 2); });
}
