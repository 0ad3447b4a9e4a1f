// proxygen: --skip name
// Functions that are volatile are exchanged like others.
#include "simulated.hpp"
#include "volatile_family.hpp"

namespace {

class Member : public exchange::Shaky {
public:
    explicit Member(int id) : id_(id) {}
    int shake(int n) volatile override { return n + id_; }
    int both(int n) const volatile override { return n - id_; }
    int name() const volatile override { return id_; }

private:
    int id_;
};

}

int main()
{
    Member first(0), second(1);
    exchange::ShakyFamily proxy({first, second}, "fixed:second");
    volatile exchange::Shaky &port = proxy;
    EXPECT(port.shake(5) == 6 && port.both(5) == 4 && port.name() == 1);
    EXPECT(simulated::served.size() == 2 && simulated::served[0] == "second.shake[shaky]");
}
