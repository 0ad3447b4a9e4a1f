// proxygen: --port access::Port --port access::Private --port access::Factory
// omitted: access::Port::narrowed(int): private: forwarded and recorded where the port's own functions call it
// omitted: access::Private::call(): not virtual: calls run on the proxy itself
// omitted: access::Private::hidden(): inherited from access::Secret, which is a private base
#include "access_proxy.hpp"
#include "check.hpp"
struct Component : access::Port {
    int narrowed(int i) override { return i + 1; }
    int narrowed(double d) override { return static_cast<int>(d) + 2; }
    int widened(int i) override { return i + 3; }
    int used(int i) override { return i + 4; }
};
struct Private : access::Private { int shown(int i) override { return i + 5; } };
namespace access { struct Maker : Factory { int f(int i) override { return i + 6; } int made() const override { return 7; } }; }
int main()
{
    check::same<access::PrivateProxy, Private>([](access::Private &p, check::trace &t) { t << p.shown(1) << p.call(); });
    check::same<access::FactoryProxy, access::Maker>([](access::Factory &p, check::trace &t) { t << p.f(1) << p.made(); });
    return check::same<access::PortProxy, Component>([](access::Port &p, check::trace &t) {
        access::Base &b = p;
        t << b.narrowed(1) << b.narrowed(1.5) << p.widened(1) << p.used(1);
    });
}
