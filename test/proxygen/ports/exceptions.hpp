#pragma once
#include <string>
namespace exceptions {
struct Problem { std::string what; };
class Port {
public:
    virtual ~Port() = default;
    virtual int throws(int kind) = 0;
    virtual int nested(Port &again, int depth) = 0;
    virtual std::string returns(std::string s, bool fail) = 0;
};
}
