// proxygen: --port nested::Outer::Port --component Tree
// omitted: nested::Outer::Port::hidden(int): not virtual: calls run on the proxy itself
#include "nested_proxy.hpp"
#include "check.hpp"
using Port = nested::Outer::Port;
struct Component : Port {
    State state(Node n) const override { return n.children.empty() ? n.state : State::idle; }
    double scale(double x, const nested::Outer::Config &c) override { return x * c.depth; }
    std::unique_ptr<Node> grow(std::unique_ptr<Node> n, State s) override { n->children.push_back({s, {}}); return n; }
    Hidden hide(Hidden h) override { return {h.i + 1}; }
};
int main()
{
    return check::same<nested::Outer_PortProxy, Component>([](Port &p, check::trace &t) {
        t << static_cast<int>(p.state({Port::State::busy, {}})) << p.scale(1.5, {3}) << p.hidden(4);
        t << static_cast<int>(p.grow(std::make_unique<Port::Node>())->children[0].state);
    });
}
