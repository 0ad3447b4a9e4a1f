#pragma once
#include <string>
namespace members {
class Port {
public:
    int data = 4;
    static int count;
    static int shared(int i) { return i + 1; }
    Port() = default;
    Port(const Port &) = default;
    Port &operator=(const Port &) = default;
    virtual ~Port() = default;
    virtual int f(int) = 0;
    int f(const std::string &s) { return f(static_cast<int>(s.size())); } // beside the virtual one
    template <class T> int f(T a, T b) { return f(static_cast<int>(a + b)); }
    static int f() { return 9; }
    virtual int deleted(int) = delete;
    friend bool operator==(const Port &, const Port &) { return true; }
};
inline int Port::count = 0;
}
