/* Proxies of all of them as components; marple proxygen has written the two headers. */
#include <marple_cca.hpp>

#include "go_proxy.hpp"
#include "work_proxy.hpp"

using namespace classic::gov::cca;

static Component *work(const char *component)
{
    return new marple::cca::Proxied<validation::Work, validation::WorkProxy>("work", "Work", component);
}

extern "C" {
Component *create_A1Proxy() { return work("A"); }
Component *create_A2Proxy() { return work("A"); }
Component *create_B1Proxy() { return work("B"); }
Component *create_B2Proxy() { return work("B"); }
Component *create_CProxy() { return work("C"); }
Component *create_DProxy() { return work("D"); }
Component *create_DriverProxy() { return new marple::cca::Proxied<GoPort, GoPortProxy>("go", "GoPort", "Driver"); }
}
