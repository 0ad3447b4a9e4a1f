#include "incomplete_proxy.hpp"
#include "check.hpp"
#include <iostream>
namespace incomplete { struct Opaque { int i; }; struct Later { int j; }; }
using namespace incomplete;
struct Component : Port {
    Opaque *pass(Opaque *p) override { p->i++; return p; }
    Opaque &refer(Opaque &r, const Opaque &s) const override { r.i += s.i; return r; }
    std::shared_ptr<Opaque> share(std::shared_ptr<Opaque> p) override { p->i *= 2; return p; }
    void print(std::ostream &out) const override { out << "printed"; }
    void accept(Visitor &v) override { v.visit(*this); }
    std::vector<Opaque *> list(Later *l, const Port *other) override { return std::vector<Opaque *>(static_cast<std::size_t>(l->j + (other != nullptr))); }
};
struct Counting : Visitor { int n = 0; void visit(Port &) override { n++; } };
struct CountingTwice : Counting { void visit(Port &p) override { n++; Counting::visit(p); } };
int main()
{
    check::same<PortProxy, Component>([](Port &p, check::trace &t) {
        Opaque a{1}, b{2};
        Later l{3};
        Counting v;
        std::ostringstream out;
        p.print(out);
        p.accept(v);
        t << p.pass(&a)->i << p.refer(a, b).i << (&p.refer(a, b) == &a) << p.share(std::make_shared<Opaque>(a))->i << out.str() << v.n << p.list(&l, &p).size();
    });
    return check::same<VisitorProxy, CountingTwice>([](Visitor &v, check::trace &t) {
        Component c;
        v.visit(c);
        t << "visited";
    });
}
