#include "assignment_proxy.hpp"
#include "check.hpp"
struct Component : assignment::Port {
    int v = 1;
    Component &operator=(const Port &other) override { v = other.value(); return *this; }
    Component &operator=(Port &&other) override { v = 10 * other.value(); return *this; }
    Component &operator=(int i) override { v = i; return *this; }
    int value() const override { return v; }
};
int main()
{
    return check::same<assignment::PortProxy, Component>([](assignment::Port &p, check::trace &t) {
        Component other;
        p = 5;
        t << p.value();
        p = other;
        t << p.value();
        p = std::move(other);
        t << p.value();
    });
}
