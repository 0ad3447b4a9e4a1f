#pragma once
#include <memory>
#include <vector>
namespace nested {
class Outer {
public:
    using Real = double;
    struct Config { int depth; };
    class Port {
    public:
        enum class State { idle, busy };
        struct Node { State state; std::vector<Node> children; };
        virtual ~Port() = default;
        virtual State state(Node n) const = 0;
        virtual Real scale(Real x, const Config &c) = 0;
        virtual std::unique_ptr<Node> grow(std::unique_ptr<Node> n, State s = State::busy) = 0;
    protected:
        struct Hidden { int i; };
        virtual Hidden hide(Hidden h) = 0;
    public:
        int hidden(int i) { return hide({i}).i; }
    };
};
}
