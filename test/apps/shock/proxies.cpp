/* Proxies of the assembly's components, named as in the thesis' table 1; marple proxygen has written the headers. */
#include <marple_cca.hpp>

#include "go_proxy.hpp"
#include "shock_proxies.hpp"

using classic::gov::cca::Component;

template <class Port, class Proxy> static Component *proxy(const char *component)
{
    return new marple::cca::Proxied<Port, Proxy>(Port::type, Port::type, component);
}

extern "C" {
Component *create_DriverProxy()
{
    return new marple::cca::Proxied<classic::gov::cca::GoPort, classic::gov::cca::GoPortProxy>("go", "GoPort", "driver");
}
Component *create_GraceProxy() { return proxy<shock::MeshPort, shock::MeshPortProxy>("grace"); }
Component *create_IccProxy() { return proxy<shock::IccPort, shock::IccPortProxy>("icc"); }
Component *create_BoundaryProxy() { return proxy<shock::BoundaryPort, shock::BoundaryPortProxy>("bc"); }
Component *create_Rk2Proxy() { return proxy<shock::IntegratorPort, shock::IntegratorPortProxy>("rk2"); }
Component *create_EstimatorProxy() { return proxy<shock::RegridPort, shock::RegridPortProxy>("ee"); }
Component *create_FluxProxy() { return proxy<shock::FluxPort, shock::FluxPortProxy>("flux"); }
Component *create_StatesProxy() { return proxy<shock::StatesPort, shock::StatesPortProxy>("sc"); }
Component *create_EFMFluxProxy() { return proxy<shock::RiemannPort, shock::RiemannPortProxy>("efm"); }
Component *create_GodunovFluxProxy() { return proxy<shock::RiemannPort, shock::RiemannPortProxy>("godunov"); }
Component *create_CharacteristicsProxy() { return proxy<shock::CharacteristicsPort, shock::CharacteristicsPortProxy>("c"); }
Component *create_QuantitiesProxy() { return proxy<shock::QuantitiesPort, shock::QuantitiesPortProxy>("cq"); }
Component *create_StatisticsProxy() { return proxy<shock::StatisticsPort, shock::StatisticsPortProxy>("stats"); }
}
