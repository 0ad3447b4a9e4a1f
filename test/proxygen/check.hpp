// How the programs here compare a component with its proxy: the same calls are made of both, and what comes
// back is written down. Marple is stood in for by hooks that count, so that it shows which functions of the
// proxy were called.
#ifndef CHECK_HPP
#define CHECK_HPP

#include <marple.hpp>

#include <cstdio>
#include <exception>
#include <map>
#include <mutex>
#include <ostream>
#include <sstream>
#include <string>
#include <vector>

namespace check {

inline std::map<std::string, int> calls;                          // by method
inline std::map<std::string, std::map<std::string, double>> values; // the last ones, by method and name
inline thread_local std::vector<std::string> open;
inline std::mutex guard;

inline std::uint64_t begin(marple_method *m, const char *)
{
    open.push_back(m->method);
    return open.size();
}

inline void end(std::uint64_t token, const marple_value *v, std::uint32_t count)
{
    const std::lock_guard<std::mutex> lock(guard);
    while (open.size() >= token) {
        calls[open.back()]++;
        for (std::uint32_t i = 0; i < count && open.size() == token; i++)
            values[open.back()][v[i].name] = v[i].kind == MARPLE_INTEGER ? static_cast<double>(v[i].as.integer) : v[i].as.real;
        open.pop_back();
    }
}

class trace {
public:
    template <class T> trace &operator<<(const T &value)
    {
        text_ << value << ' ';
        return *this;
    }
    // What a call throws.
    template <class F> void thrown(F f)
    {
        try {
            f();
            *this << "nothing";
        } catch (const std::exception &e) {
            *this << e.what();
        } catch (int i) {
            *this << "int" << i;
        } catch (...) {
            *this << "something";
        }
    }
    std::string text() const { return text_.str(); }

private:
    std::ostringstream text_;
};

inline int failures;

inline void expect(bool good, const std::string &what)
{
    if (!good) {
        std::printf("%s\n", what.c_str());
        failures++;
    }
}

// Whether every function of a proxy was called but those named, and every invocation has ended.
template <class Methods> void all_called(const Methods &methods, const std::vector<std::string> &but = {})
{
    for (std::size_t i = 0; i < methods.size(); i++) {
        bool excepted = false;
        for (const std::string &name : but)
            excepted = excepted || name == methods.name(i);
        expect(excepted == !calls.count(methods.name(i)), std::string(methods.name(i)) + (excepted ? " was called" : " was not called"));
    }
    expect(open.empty(), "an invocation is still open");
}

// Two components of the same kind, one behind a proxy, must behave alike.
template <class Proxy, class Component, class Exercise> int same(Exercise exercise, const std::vector<std::string> &but = {})
{
    Component direct, behind;
    Proxy proxy(behind);
    trace a, b;
    exercise(direct, a);
    exercise(proxy, b);
    expect(a.text() == b.text(), "directly:  " + a.text() + "\nby proxy:  " + b.text());
    expect(!a.text().empty(), "nothing was compared");
    all_called(proxy.marple_methods(), but);
    return failures != 0;
}

}

extern "C" __attribute__((visibility("default"))) const marple_hooks marple_hooks_1;
const marple_hooks marple_hooks_1 = {sizeof(marple_hooks), [](const char *) {}, [](const char *) {}, check::begin, check::end, nullptr, nullptr, nullptr};

#endif
