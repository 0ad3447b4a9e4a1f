#include "trailing_proxy.hpp"
#include "check.hpp"
struct Component : trailing::Port {
    std::string plain(int i) override { return std::string(static_cast<std::size_t>(i), 'x'); }
    Inner inner() const override { return {5}; }
    double deduced(double x, int i) override { return x * i; }
    auto function(int) noexcept -> int (*)(int) override { return [](int i) { return i + 1; }; }
    std::vector<int> &reference() override { return trailing::list; }
    std::nullptr_t null(std::nullptr_t p) override { return p; }
    void nothing(int &i) override { i = 8; }
    int &operator[](int i) & override { return trailing::list[static_cast<std::size_t>(i)]; }
};
int main()
{
    return check::same<trailing::PortProxy, Component>([](trailing::Port &p, check::trace &t) {
        int i = 0;
        p.nothing(i);
        t << p.plain(3) << p.inner().i << p.deduced(1.5, 3) << p.function(1)(6) << (&p.reference() == &trailing::list) << (p.null(nullptr) == nullptr) << i << p[2];
    });
}
