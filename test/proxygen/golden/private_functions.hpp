// Proxies of private_functions.hpp, written by `marple proxygen`. A proxy forwards each call to the component
// behind it, and records it when the program runs under Marple:
//
//     private_functions::PortProxy proxy(component);
//
// What a proxy does not do is listed at the end.
#ifndef MARPLE_PRIVATE_FUNCTIONS_PORTPROXY
#define MARPLE_PRIVATE_FUNCTIONS_PORTPROXY

#include "private_functions.hpp"

#include <marple.hpp>

#include <string>
#include <utility>

namespace marple {

// Functions of private_functions::Port that are not public.
struct private_functions_PortProxy_0 {
    friend auto exposed(private_functions_PortProxy_0);
};
template struct expose<private_functions_PortProxy_0, static_cast<int (::private_functions::Port::*)(int)>(&::private_functions::Port::do_compute)>;
struct private_functions_PortProxy_1 {
    friend auto exposed(private_functions_PortProxy_1);
};
template struct expose<private_functions_PortProxy_1, static_cast<int (::private_functions::Port::*)(int, double)>(&::private_functions::Port::do_compute)>;
struct private_functions_PortProxy_2 {
    friend auto exposed(private_functions_PortProxy_2);
};
template struct expose<private_functions_PortProxy_2, &::private_functions::Port::hook>;

}

namespace private_functions {

// Forwards private_functions::Port.
class PortProxy : public Port {
public:
    explicit PortProxy(marple::target<Port> target, const std::string &component = "Port", const std::string &instance = "")
        : marple_methods_(component, instance, marple_names_), marple_target_(target)
    {
    }

    // Which functions are recorded, to be changed at any time.
    marple::methods<3> &marple_methods() { return marple_methods_; }

private:
    int do_compute(int n) override
    {
        marple::invocation call(marple_methods_[0]);
        call.parameter("n", n);
        const auto forward = exposed(marple::private_functions_PortProxy_0{});
        return (marple_target_().*forward)(n);
    }

    int do_compute(int n, double x) override
    {
        marple::invocation call(marple_methods_[1]);
        call.parameter("n", n);
        const auto forward = exposed(marple::private_functions_PortProxy_1{});
        return (marple_target_().*forward)(n, x);
    }

    int hook() override
    {
        marple::invocation call(marple_methods_[2]);
        const auto forward = exposed(marple::private_functions_PortProxy_2{});
        return (marple_target_().*forward)();
    }

    static constexpr const char *marple_names_[] = {
        "do_compute(int)",
        "do_compute(int, double)",
        "hook"};
    mutable marple::methods<3> marple_methods_;
    marple::target<Port> marple_target_;
};

}

#endif

// Not forwarded, or not like the rest:
//
//     private_functions::Port::compute(int): not virtual: calls run on the proxy itself
//     private_functions::Port::constant() const: not virtual: calls run on the proxy itself
//     private_functions::Port::last(): final: it cannot be overridden, so calls run on the proxy itself
//     private_functions::Port::do_constant(const std::vector<Item> &) const: it cannot be declared again: 'Item' is a private member of 'private_functions::Port'
//     private_functions::Port::do_compute(int): private: forwarded and recorded where the port's own functions call it
//     private_functions::Port::do_compute(int, double): private: forwarded and recorded where the port's own functions call it
//     private_functions::Port::hook(): private: forwarded and recorded where the port's own functions call it
