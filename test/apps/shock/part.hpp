/* What all components of this assembly have in common: port names are the types' names. */
#ifndef SHOCK_PART_HPP
#define SHOCK_PART_HPP

#include "shock.hpp"

#include <stdexcept>
#include <string>

namespace shock {

template <class... Ports> class Part : public classic::gov::cca::Component, public Ports... {
public:
    void setServices(classic::gov::cca::Services *services) override
    {
        services_ = services;
        if (!services)
            return;
        (services->addProvidesPort(static_cast<Ports *>(this), Ports::type, Ports::type), ...);
        for (const char *name : uses_)
            services->registerUsesPort(name, name);
    }

protected:
    explicit Part(std::vector<const char *> uses) : uses_(std::move(uses)) {}
    template <class Port> Port &port() const
    {
        auto *found = services_ ? dynamic_cast<Port *>(services_->getPort(Port::type)) : nullptr;
        if (!found)
            throw std::runtime_error(std::string("port ") + Port::type + " is not connected");
        services_->releasePort(Port::type);
        return *found;
    }
    classic::gov::cca::Services *services_ = nullptr;

private:
    const std::vector<const char *> uses_;
};

inline double pressure(double rho, double mx, double my, double e) { return (gamma - 1) * (e - 0.5 * (mx * mx + my * my) / rho); }

}

#endif
