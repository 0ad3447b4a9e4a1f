// proxygen: --port covariant::Square
#include "covariant_proxy.hpp"
#include "check.hpp"
using namespace covariant;
struct Component : Square {
    Component *clone() const override { return new Component; }
    const Component &self() const override { return *this; }
    int area() const override { return 16; }
    void *raw() override { return this; }
    bool equals(const Shape &other) const override { return other.area() == area(); }
    int corners() const override { return 4; }
    int side() const override { return 5; }
};
int main()
{
    return check::same<SquareProxy, Component>([](Square &p, check::trace &t) {
        Shape &s = p;
        Polygon &q = p;
        std::unique_ptr<Shape> a(s.clone());
        std::unique_ptr<Polygon> b(q.clone());
        std::unique_ptr<Square> c(p.clone());
        t << a->area() << b->corners() << c->side() << s.self().area() << p.self().side() << s.area() << q.corners() << p.side() << s.equals(*a) << (p.raw() != nullptr);
    });
}
