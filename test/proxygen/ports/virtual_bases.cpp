// proxygen: --port virtual_bases::Port
// omitted: virtual_bases::Port::call(int): not virtual: calls run on the proxy itself
#include "virtual_bases_proxy.hpp"
#include "check.hpp"
struct Component : virtual_bases::Port {
    int id() const override { return 42; }
    Component &self() override { return *this; }
    int left(int i) override { return i + 1; }
    int right(int i) override { return i + 2; }
    int own(int i) override { return i + 3; }
    int value() override { return 9; }
    int inner(int i) override { return i * 100; }
};
int main()
{
    return check::same<virtual_bases::PortProxy, Component>([](virtual_bases::Port &p, check::trace &t) {
        virtual_bases::Root &root = p;
        virtual_bases::Right &right = p;
        t << p.id() << root.id() << right.self().right(1) << root.self().id() << p.left(1) << right.right(2) << p.own(5) << root.value() << p.call(3);
    });
}
