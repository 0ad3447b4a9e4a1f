#include "names_proxy.hpp"
#include "check.hpp"
struct Component : names::Port {
    int call(int a, int b, int c, int d, int e) override { return a + b + c + d + e; }
    int forward(int a, int b, std::string c) const override { return a * b + static_cast<int>(c.size()); }
    int invocation(int a, int b) override { return a - b; }
    int method(int a, int b) override { return a / b; }
    int size(const std::string &s) override { return static_cast<int>(s.size()); }
    int parameter(int a, int b, int c) override { return a + 10 * b + 100 * c; }
    names::Type type(names::Type t) override { return t; }
    names::Color Color(names::Color c) override { return c; }
    int move(std::string &&s) override { return static_cast<int>(std::string(std::move(s)).size()); }
    int begin() override { return 5; }
    int from_macro(int a, int b) override { return a % b; }
    int marple(int n) override { return n + 6; }
};
int main()
{
    return check::same<names::PortProxy, Component>([](names::Port &p, check::trace &t) {
        std::string s = "moved";
        t << p.call(1, 2, 3, 4, 5) << p.forward(2, 3, "x") << p.invocation(5, 3) << p.method(8, 2) << p.size("abc") << p.parameter(1, 2, 3) << p.type({4}).i
          << p.Color(names::green) << p.move(std::move(s)) << s.empty() << p.begin() << p.from_macro(7, 4) << p.marple(1);
    });
}
