// omitted: overloads::Port::f(void *): not virtual: calls run on the proxy itself
#include "overloads_proxy.hpp"
#include "check.hpp"
struct Component : overloads::Port {
    int f(char c) override { return c + 1; }
    int f(int i) override { return i + 2; }
    int f(int &i) override { return i++ + 3; }
    int f(long l) const override { return static_cast<int>(l) + 4; }
    int f(double a, double b) override { return static_cast<int>(a * b) + 5; }
    int f(const std::string &s) override { return static_cast<int>(s.size()) + 6; }
    int f(std::string &&s) override { return static_cast<int>(s.size()) + 7; }
    int f(std::string &s) override { return static_cast<int>((s += "x").size()) + 8; }
    int at(int i) override { return i + 9; }
    int at(int i) const override { return i + 10; }
    int g(int i) override { return i + 11; }
    int g(double d) override { return static_cast<int>(d) + 12; }
};
int main()
{
    return check::same<overloads::PortProxy, Component>([](overloads::Port &p, check::trace &t) {
        std::string s = "abc";
        const std::string c = "abcd";
        int (overloads::Port::*by_reference)(int &) = &overloads::Port::f;
        int i = 20;
        t << p.f('a') << p.f(1) << (p.*by_reference)(i) << i << const_cast<const overloads::Port &>(p).f(3L) << p.f(1.5, 4) << p.f(c) << p.f(s) << s << p.f(std::string("ab"))
          << p.at(5) << const_cast<const overloads::Port &>(p).at(5) << p.g(2.5) << static_cast<overloads::Base &>(p).g(7)
          << p.f(static_cast<void *>(nullptr));
        overloads::PortProxy *proxy = dynamic_cast<overloads::PortProxy *>(&p);
        t << (proxy ? proxy->f(static_cast<void *>(nullptr)) : 100); // is not hidden by the proxy's functions
    });
}
