#include "exceptions_proxy.hpp"
#include "check.hpp"
struct Component : exceptions::Port {
    int throws(int kind) override
    {
        switch (kind) {
        case 0: throw std::out_of_range("range");
        case 1: throw 7;
        case 2: throw exceptions::Problem{"own"};
        case 3: throw "text";
        }
        return kind;
    }
    int nested(Port &again, int depth) override
    {
        try {
            return depth ? again.nested(again, depth - 1) + 1 : again.throws(1);
        } catch (int i) {
            if (depth == 2)
                return i * 10;
            throw i + 1;
        }
    }
    std::string returns(std::string s, bool fail) override { return fail ? throw std::move(s) : std::move(s); }
};
int main()
{
    return check::same<exceptions::PortProxy, Component>([](exceptions::Port &p, check::trace &t) {
        for (int kind = 0; kind < 5; kind++)
            t.thrown([&] { t << p.throws(kind); });
        try {
            p.throws(2);
        } catch (const exceptions::Problem &problem) {
            t << problem.what;
        }
        t << p.nested(p, 3) << p.returns("kept", false);
        t.thrown([&] { p.nested(p, 1); });
        try {
            p.returns("thrown", true);
        } catch (const std::string &s) {
            t << s;
        }
    });
}
