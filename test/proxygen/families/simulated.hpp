// Marple is stood in for by hooks that keep what is recorded, on a clock that only the components move.
#ifndef SIMULATED_HPP
#define SIMULATED_HPP

#include <marple_optimizer.hpp>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

namespace simulated {

inline std::uint64_t now; // nanoseconds
inline int open;
inline std::vector<std::string> served, declared;

// What rules have done, and why.
struct firing {
    std::string rule;
    std::map<std::string, double> values;
};
inline std::vector<firing> fired;
inline bool firing_now;
inline thread_local bool muted; // nothing of this thread is recorded

inline std::uint64_t begin(marple_method *m, const char *)
{
    if (muted)
        return 0;
    if ((firing_now = std::string(m->component) == "rules"))
        fired.push_back({m->method, {}});
    if (served.size() < 1000)
        served.push_back(std::string(m->component) + "." + m->method + "[" + m->instance + "]");
    return static_cast<std::uint64_t>(++open);
}
inline void end(std::uint64_t, const marple_value *values, std::uint32_t count)
{
    open--;
    for (std::uint32_t i = 0; firing_now && i < count; i++)
        fired.back().values[values[i].name] = values[i].kind == MARPLE_INTEGER ? static_cast<double>(values[i].as.integer) : values[i].as.real;
    firing_now = false;
}
inline void families(const char *text) { declared.emplace_back(text); }
inline int totals(marple_totals *t)
{
    *t = {now, 0, 0, 1};
    return 1;
}

#define EXPECT(condition) \
    ((condition) ? (void)0 : (std::printf("%s:%d: expected %s\n", __FILE__, __LINE__, #condition), std::exit(1)))

template <class F> std::string thrown(F f)
{
    try {
        f();
    } catch (const std::exception &e) {
        return e.what();
    }
    return "";
}

// Random numbers that are the same everywhere.
class random {
public:
    explicit random(std::uint64_t seed) : state_(seed * 2 + 1) {}
    double operator()() // in [0, 1)
    {
        state_ = state_ * 6364136223846793005u + 1442695040888963407u;
        return static_cast<double>(state_ >> 33) / 2147483648.0;
    }

private:
    std::uint64_t state_;
};

}

extern "C" __attribute__((visibility("default"))) const marple_hooks marple_hooks_1;
const marple_hooks marple_hooks_1 = {sizeof(marple_hooks), [](const char *) {}, [](const char *) {}, simulated::begin, simulated::end, simulated::families, simulated::totals, nullptr};

#endif
