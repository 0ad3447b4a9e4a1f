// proxygen: --port protected_functions::Port
// omitted: protected_functions::Port::run(int): not virtual: calls run on the proxy itself
#include "protected_functions_proxy.hpp"
#include "check.hpp"
struct Component : protected_functions::Port {
    int deep(int i) const override { return i + 10; }
    int deep(const std::string &s) const override { return static_cast<int>(s.size()); }
    int visible(int i) override { return i + 20; }
    int before(int i) override { return i + 30; }
    int work(int n) noexcept override { return n + 40; }
    int work(std::unique_ptr<int> p) override { return *p + 50; }
    int after(int i) && override { return i + 60; }
    Step step(Step s, int n) const override { return s == Step::one && n == 3 ? Step::two : Step::one; }
};
int main()
{
    return check::same<protected_functions::PortProxy, Component>([](protected_functions::Port &p, check::trace &t) {
        t << p.run(1) << p.visible(2) << p.go_deep(3) << p.stepped();
    });
}
