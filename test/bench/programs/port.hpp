// A component's interface, of which marple proxygen makes a proxy.
#pragma once

namespace bench {

class Port {
public:
    virtual ~Port() = default;
    virtual long none() = 0;
    virtual long one(int a) = 0;
    virtual long four(int a, long b, unsigned c, int d) = 0;
};

}
