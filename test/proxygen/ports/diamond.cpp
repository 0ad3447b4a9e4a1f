// proxygen: --port diamond::Port
#include "diamond_proxy.hpp"
#include "check.hpp"
struct Component : diamond::Port {
    int id(int i) const override { return i + 1; }
    int left() override { return 2; }
    int right() override { return 3; }
    int redone(int i) override { return i + 4; }
};
int main()
{
    return check::same<diamond::PortProxy, Component>([](diamond::Port &p, check::trace &t) {
        t << static_cast<diamond::Left &>(p).id(1) << static_cast<const diamond::Right &>(p).id(2) << p.left() << p.right() << p.redone(5)
          << static_cast<diamond::Right &>(p).redone(6);
    });
}
