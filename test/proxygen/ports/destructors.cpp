#include "destructors_proxy.hpp"
#include "check.hpp"
#include <memory>
template <class P> struct Component final : P { int f(int i) override { return i + 1; } };
int main()
{
    check::same<destructors::PureProxy, Component<destructors::Pure>>([](destructors::Pure &p, check::trace &t) { t << p.f(1); });
    check::same<destructors::GuardedProxy, Component<destructors::Guarded>>([](destructors::Guarded &p, check::trace &t) { t << p.f(2); });
    Component<destructors::Pure> c;
    std::unique_ptr<destructors::Pure> owned(new destructors::PureProxy(c));
    check::expect(owned->f(1) == 2, "owned by its base");
    return check::same<destructors::ThrowingProxy, Component<destructors::Throwing>>([](destructors::Throwing &p, check::trace &t) { t << p.f(3); });
}
