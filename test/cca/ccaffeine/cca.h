/* Ccaffeine's own interfaces, and what components here use beside them: found before both. */
#ifndef CCA_H
#define CCA_H

#include CCAFFEINE_CCA

#include <stdexcept>
#include <string>

namespace classic {
namespace gov {
namespace cca {

class CCAException : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/* Ccaffeine knows others: it leaves these alone. */
class ParameterPort : public virtual Port {
public:
    virtual void set(const std::string &name, const std::string &value) = 0;
};

}
}
}

#endif
