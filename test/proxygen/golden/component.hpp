// Proxies of component.hpp, written by `marple proxygen`. A proxy forwards each call to the component
// behind it, and records it when the program runs under Marple:
//
//     component::FluxPortProxy proxy(component);
//
// What a proxy does not do is listed at the end.
#ifndef MARPLE_COMPONENT_FLUXPORTPROXY_COMPONENT_MESHPORTPROXY
#define MARPLE_COMPONENT_FLUXPORTPROXY_COMPONENT_MESHPORTPROXY

#include "component.hpp"

#include <marple.hpp>

#include <string>
#include <utility>

namespace component {

// Forwards component::FluxPort.
class FluxPortProxy : public FluxPort {
public:
    explicit FluxPortProxy(marple::target<FluxPort> target, const std::string &component = "Solver", const std::string &instance = "")
        : marple_methods_(component, instance, marple_names_), marple_target_(target)
    {
    }

    // Which functions are recorded, to be changed at any time.
    marple::methods<3> &marple_methods() { return marple_methods_; }

    double compute(const std::vector<double> &u, int n) override
    {
        marple::invocation call(marple_methods_[0]);
        call.parameter("cells", u.size()*n);
        call.parameter("half", n/2.);
        return marple_target_().compute(u, n);
    }

    void set(int level) override
    {
        marple::invocation call(marple_methods_[1]);
        call.parameter("level", level);
        marple_target_().set(level);
    }

    int version() const override
    {
        marple::invocation call(marple_methods_[2]);
        return marple_target_().version();
    }

private:
    static constexpr const char *marple_names_[] = {
        "compute",
        "set",
        "version"};
    mutable marple::methods<3> marple_methods_;
    marple::target<FluxPort> marple_target_;
};

}

namespace component {

// Forwards component::MeshPort.
class MeshPortProxy : public MeshPort {
public:
    explicit MeshPortProxy(marple::target<MeshPort> target, const std::string &component = "Solver", const std::string &instance = "")
        : marple_methods_(component, instance, marple_names_), marple_target_(target)
    {
    }

    // Which functions are recorded, to be changed at any time.
    marple::methods<3> &marple_methods() { return marple_methods_; }

    int refine(int level, int by) override
    {
        marple::invocation call(marple_methods_[0]);
        call.parameter("levels", level*by);
        return marple_target_().refine(level, by);
    }

    int refine(int level)
    {
        return static_cast<MeshPort &>(*this).refine(level);
    }

    void set(int level) override
    {
        marple::invocation call(marple_methods_[1]);
        call.parameter("level", level);
        marple_target_().set(level);
    }

    int version() const override
    {
        marple::invocation call(marple_methods_[2]);
        return marple_target_().version();
    }

private:
    static constexpr const char *marple_names_[] = {
        "refine",
        "set",
        "version"};
    mutable marple::methods<3> marple_methods_;
    marple::target<MeshPort> marple_target_;
};

}

namespace component {

// All ports of a component.
class SolverProxy : public FluxPortProxy, public MeshPortProxy {
public:
    template <class Component>
    explicit SolverProxy(Component &target, const std::string &component = "Solver", const std::string &instance = "")
        : FluxPortProxy(target, component, instance),
          MeshPortProxy(target, component, instance)
    {
    }

    int version() const override
    {
        return FluxPortProxy::version();
    }
};

}

#endif
