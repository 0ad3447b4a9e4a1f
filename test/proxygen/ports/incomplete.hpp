#pragma once
#include <iosfwd>
#include <memory>
#include <vector>
namespace incomplete {
struct Opaque;
class Port;
struct Visitor { virtual ~Visitor() = default; virtual void visit(Port &p) = 0; };
class Port {
public:
    virtual ~Port() = default;
    virtual Opaque *pass(Opaque *p) = 0;
    virtual Opaque &refer(Opaque &r, const Opaque &s) const = 0;
    virtual std::shared_ptr<Opaque> share(std::shared_ptr<Opaque> p) = 0;
    virtual void print(std::ostream &out) const = 0;
    virtual void accept(Visitor &v) = 0;
    virtual std::vector<Opaque *> list(struct Later *l, const Port *other) = 0;
};
}
