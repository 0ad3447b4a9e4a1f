// omitted: variadic::Port::print(const char *, ...): C variadic arguments cannot be passed on
// omitted: variadic::Port::optional(int, ...): C variadic arguments cannot be passed on
// omitted: variadic::Port::quiet(...): C variadic arguments cannot be passed on
#include "variadic_proxy.hpp"
#include "check.hpp"
struct Component : variadic::Port {
    int print(const char *, ...) override { return 1; }
    int vprint(const char *, va_list list) override { return va_arg(list, int); }
};
int main()
{
    Component c;
    variadic::PortProxy proxy(c);
    bool thrown = false;
    try {
        proxy.print("%d", 1); // must not pretend
    } catch (const std::logic_error &e) {
        thrown = std::string(e.what()).find("variadic") != std::string::npos;
    }
    check::expect(thrown, "a call that cannot be forwarded must fail");
    return check::same<variadic::PortProxy, Component>([](variadic::Port &p, check::trace &t) { t << p.all("%d", 42) << p.optional(3, 4) << p.quiet(); });
}
