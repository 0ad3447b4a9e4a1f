#pragma once
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>
namespace typedefs {
typedef double Real;
template <class T> using Field = std::vector<T>;
using Callback = std::function<Real(const Field<Real> &, int)>;
class Port {
    typedef long Secret;
    using Secrets = std::map<Secret, std::string>;
public:
    typedef std::shared_ptr<const Field<Real>> Handle;
    using Table = std::map<std::string, std::vector<std::pair<int, Real>>>;
    virtual ~Port() = default;
    virtual Real norm(const Field<Real> &f, Real p) const = 0;
    virtual Handle make(Field<Real>::size_type n) = 0;
    virtual const Table &table(Table &&t) = 0;
    virtual const Secret &secret(const Secret &s, Secrets t) = 0; // whose names only the port may use
    virtual Callback wrap(Callback c, void (*f)(Field<Real> *)) = 0;
};
}
