// proxygen: --port finals::Port
// omitted: finals::Port::closed(int): final: it cannot be overridden, so calls run on the proxy itself
// omitted: finals::Port::sealed(): final: it cannot be overridden, so calls run on the proxy itself
#include "finals_proxy.hpp"
#include "check.hpp"
struct Component : finals::Port {
    using finals::Port::overloaded;
    int open(int i) override { return i + 4; }
    int overloaded(double d) override { return static_cast<int>(d * 2); }
};
int main()
{
    return check::same<finals::PortProxy, Component>([](finals::Port &p, check::trace &t) {
        finals::Base &b = p;
        finals::PortProxy *proxy = dynamic_cast<finals::PortProxy *>(&p);
        t << p.open(1) << p.closed(2) << b.overloaded(3) << b.overloaded(1.5) << p.sealed() << (proxy ? proxy->overloaded(5) : 6);
    });
}
