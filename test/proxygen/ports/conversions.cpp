#include "conversions_proxy.hpp"
#include "check.hpp"
struct Component : conversions::Port {
    std::string s = "text";
    conversions::Target t{4};
    int a[2] = {1, 2};
    operator bool() const override { return true; }
    explicit operator int() override { return 5; }
    operator const std::string &() const override { return s; }
    operator conversions::Target *() override { return &t; }
    operator conversions::Target() && override { return {6}; }
    operator conversions::Function() const override { return [](int i) { return i + 1; }; }
    operator conversions::Array &() override { return a; }
    operator double() const noexcept override { return 2.5; }
};
int main()
{
    return check::same<conversions::PortProxy, Component>([](conversions::Port &p, check::trace &t) {
        t << p.operator bool() << static_cast<int>(p) << p.operator const std::string &() << p.operator conversions::Target *()->i
          << std::move(p).operator conversions::Target().i << p.operator conversions::Function()(7) << p.operator conversions::Array &()[1]
          << p.operator double();
    });
}
