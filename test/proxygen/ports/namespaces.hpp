#pragma once
namespace outer {
struct Thing { int i; };
inline namespace v2 {
namespace inner {
struct Thing { int i, j; };
class Port {
public:
    virtual ~Port() = default;
    virtual Thing twice(Thing t, outer::Thing o) = 0;
};
}
}
namespace other {
namespace inner { struct Thing { int k; }; } // not the one above
struct Derived : inner::Thing, outer::inner::Port {
    virtual int more(const outer::inner::Thing &t, inner::Thing u) = 0;
};
}
}
class GlobalPort {
public:
    virtual ~GlobalPort() = default;
    virtual outer::Thing make(int i) = 0;
};
namespace outer { namespace std { struct string { int i; }; } }
namespace outer::marple { struct invocation {}; }
namespace outer {
struct Shadowed { // where std and marple are somebody else's
    virtual ~Shadowed() = default;
    virtual std::string text(std::string s) = 0;
    virtual int number(int i = 4) = 0;
};
}
namespace { struct Unnamed { virtual ~Unnamed() = default; virtual int f(int) = 0; }; }
