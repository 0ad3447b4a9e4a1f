// Proxies of noexcepts.hpp, written by `marple proxygen`. A proxy forwards each call to the component
// behind it, and records it when the program runs under Marple:
//
//     noexcepts::PortProxy proxy(component);
//
// What a proxy does not do is listed at the end.
#ifndef MARPLE_NOEXCEPTS_PORTPROXY
#define MARPLE_NOEXCEPTS_PORTPROXY

#include "noexcepts.hpp"

#include <marple.hpp>

#include <string>
#include <utility>

namespace noexcepts {

// Forwards noexcepts::Port.
class PortProxy : public Port {
public:
    explicit PortProxy(marple::target<Port> target, const std::string &component = "Port", const std::string &instance = "")
        : marple_methods_(component, instance, marple_names_), marple_target_(target)
    {
    }

    // Which functions are recorded, to be changed at any time.
    marple::methods<8> &marple_methods() { return marple_methods_; }

    int plain(int arg1) noexcept override
    {
        marple::invocation call(marple_methods_[0]);
        call.parameter("arg1", arg1);
        return marple_target_().plain(arg1);
    }

    int computed(int arg1) const noexcept(never && sizeof(int) == 4) override
    {
        marple::invocation call(marple_methods_[1]);
        call.parameter("arg1", arg1);
        return marple_target_().computed(arg1);
    }

    int old(int arg1) noexcept override
    {
        marple::invocation call(marple_methods_[2]);
        call.parameter("arg1", arg1);
        return marple_target_().old(arg1);
    }

    int may(int arg1) noexcept(false) override
    {
        marple::invocation call(marple_methods_[3]);
        call.parameter("arg1", arg1);
        return marple_target_().may(arg1);
    }

    int trait(long arg1) noexcept(Traits<long>::nothrow) override
    {
        marple::invocation call(marple_methods_[4]);
        call.parameter("arg1", arg1);
        return marple_target_().trait(arg1);
    }

    int &reference() & noexcept override
    {
        marple::invocation call(marple_methods_[5]);
        return marple_target_().reference();
    }

    auto function(void (*f)() noexcept) noexcept -> void (*)() noexcept override
    {
        marple::invocation call(marple_methods_[6]);
        return marple_target_().function(f);
    }

    operator int() const noexcept override
    {
        marple::invocation call(marple_methods_[7]);
        return marple_target_().operator int();
    }

private:
    static constexpr const char *marple_names_[] = {
        "plain",
        "computed",
        "old",
        "may",
        "trait",
        "reference",
        "function",
        "operator int"};
    mutable marple::methods<8> marple_methods_;
    marple::target<Port> marple_target_;
};

}

#endif
