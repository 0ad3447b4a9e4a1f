#pragma once
#include <vector>
namespace component {
struct Port { virtual ~Port() = default; virtual int version() const = 0; };
class FluxPort : public virtual Port {
public:
    virtual double compute(const std::vector<double> &u, int n) = 0;
    virtual void set(int level) = 0;
};
class MeshPort : public virtual Port {
public:
    virtual int refine(int level, int by = 2) = 0;
    virtual void set(int level) = 0; // not the one above
};
}
