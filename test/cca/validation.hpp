/*
 * The validation of N. Trebon's thesis (University of Oregon, 2005, chapter VI): components of known cost, which
 * sleep. All have this port.
 */
#ifndef VALIDATION_HPP
#define VALIDATION_HPP

#include <cca.h>

namespace validation {

class Work : public virtual classic::gov::cca::Port {
public:
    virtual void compute(double x) = 0;
};

}

#endif
