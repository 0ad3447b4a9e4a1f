// A port with functions that are volatile, recorded or not.
#pragma once

namespace exchange {

class Shaky {
public:
    virtual ~Shaky() = default;
    virtual int shake(int n) volatile = 0;
    virtual int both(int n) const volatile = 0;
    virtual int name() const volatile = 0;
};

}
