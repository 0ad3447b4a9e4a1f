/*
 * Components in the place of a Riemann solver, which have both of them behind themselves. Of two, one is a family's proxy,
 * whose policy changes with each `every` calls if that is not 0, and the other one does the same by hand; of two more, one
 * is such a proxy which the rules of a composition (rules.yaml) connect, and the other one does what they say by hand.
 */
#include "part.hpp"

#include "riemann_family.hpp"

#include <cstdlib>
#include <memory>

namespace shock {
namespace {

class Switching : public classic::gov::cca::Component, public RiemannPort, public classic::gov::cca::ParameterPort {
public:
    void setServices(classic::gov::cca::Services *services) override
    {
        services_ = services;
        if (!services)
            return;
        services->addProvidesPort(static_cast<RiemannPort *>(this), type, type);
        services->addProvidesPort(static_cast<ParameterPort *>(this), "parameters", "ParameterPort");
        for (const char *name : names)
            services->registerUsesPort(name, type);
    }
    void set(const std::string &name, const std::string &value) override { (name == "every" ? every_ : first_) = std::atoi(value.c_str()); }

protected:
    static constexpr const char *names[] = {"efm", "godunov"};
    int turn() { return every_ ? (first_ + calls_++ / every_) % 2 : first_; }
    RiemannPort *solver(int which) const
    {
        auto *found = dynamic_cast<RiemannPort *>(services_->getPort(names[which]));
        services_->releasePort(names[which]);
        return found;
    }

private:
    classic::gov::cca::Services *services_ = nullptr;
    int every_ = 0, first_ = 0, calls_ = 0;
};

class ByHand : public Switching {
public:
    void compute(Mode mode, Faces &faces) override { solver(turn())->compute(mode, faces); }
};

class BySize : public Switching {
public:
    void compute(Mode mode, Faces &faces) override { solver(faces.left.size() >= 1000)->compute(mode, faces); }
};

class ByRules : public Switching {
public:
    void compute(Mode mode, Faces &faces) override { static_cast<RiemannPort &>(family_).compute(mode, faces); }

protected:
    template <int which> static RiemannPort *find(void *self) { return static_cast<ByRules *>(self)->solver(which); }
    RiemannPortFamily family_{{{find<0>, this}, {find<1>, this}}};
};

class ByFamily : public ByRules {
public:
    void compute(Mode mode, Faces &faces) override
    {
        if (int now = turn(); now != last_)
            family_.marple_policy(std::string("fixed:") + names[last_ = now]);
        ByRules::compute(mode, faces);
    }

private:
    int last_ = -1;
};

}
}

extern "C" {
classic::gov::cca::Component *create_ByHand() { return new shock::ByHand; }
classic::gov::cca::Component *create_ByFamily() { return new shock::ByFamily; }
classic::gov::cca::Component *create_BySize() { return new shock::BySize; }
classic::gov::cca::Component *create_ByRules() { return new shock::ByRules; }
}
