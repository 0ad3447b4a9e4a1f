// omitted: private_functions::Port::compute(int): not virtual: calls run on the proxy itself
// omitted: private_functions::Port::do_compute(int): private: forwarded and recorded where the port's own functions call it
// omitted: private_functions::Port::last(): final: it cannot be overridden, so calls run on the proxy itself
// omitted: private_functions::Port::do_constant(const std::vector<Item> &) const: it cannot be declared again: 'Item' is a private member of 'private_functions::Port'
#include "private_functions_proxy.hpp"
#include "check.hpp"
class Component : public private_functions::Port {
    int do_compute(int n) override { return n + 1; }
    int do_compute(int n, double x) override { return static_cast<int>(n * x); }
    int hook() override { return 100; }
};
int main()
{
    return check::same<private_functions::PortProxy, Component>([](private_functions::Port &p, check::trace &t) { t << p.compute(4) << p.constant(); });
}
