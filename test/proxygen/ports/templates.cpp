// proxygen: --port 'templates::Port<float>' --port templates::RealPort
// omitted: templates::Port<float>::cast<...>: a template: it cannot be virtual
#include "templates_proxy.hpp"
#include "check.hpp"
using namespace templates;
template <class T> struct Component : Port<T> {
    using C = std::complex<T>;
    std::vector<C> read(std::size_t n) override { return std::vector<C>(n, C(2)); }
    void write(C v, C *p, std::array<C, 3> a) override { *p = v + a[1]; }
    Port<T> &self() override { return *this; }
    int put(const Port<T> &d) override { return d.peek(C(1)) == C(1); }
    Tensor<T, Order::columns, 3, 4> tensor(Tensor<T, Order::rows> t) override { return {{t.data[0], 5}}; }
    std::function<std::unique_ptr<T>(T)> function(std::function<T(Port<T> &)> f) override
    {
        return [this, f](T x) { return std::make_unique<T>(x + f(*this)); };
    }
    unsigned trait(int i) override { return static_cast<unsigned>(i + 1); }
};
template <class T> void exercise(Port<T> &p, check::trace &t)
{
    std::complex<T> c;
    p.write({1, 2}, &c, {{{}, {3, 4}, {}}});
    t << p.read(3).size() << c.imag() << (p.self().peek(c) == c) << p.put(p) << p.tensor({{7, 8}}).data[0] << *p.function([](Port<T> &) { return T(2); })(3) << p.trait(5);
}
int main()
{
    check::same<Port_floatProxy, Component<float>>([](Port<float> &p, check::trace &t) { exercise(p, t); });
    return check::same<RealPortProxy, Component<double>>([](Port<double> &p, check::trace &t) { exercise(p, t); });
}
