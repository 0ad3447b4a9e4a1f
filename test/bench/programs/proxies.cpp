/*
 * Nanoseconds per call of a component's method, with 0, 1 and 4 parameters: thread CPU time, the best of several
 * rounds. Prints one line per method: parameters and nanoseconds.
 *
 *     proxies direct|gettime|proxy|POLICY [ROUNDS [CALLS-PER-ROUND]]     POLICY: of the proxy of a family
 *     proxies sustained [ROUNDS [CALLS-PER-ROUND]]      all calls with a parameter: per second of elapsed time
 */
#include "port_family.hpp"
#include "port_proxy.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

namespace {

double now(clockid_t clock)
{
    timespec t;
    clock_gettime(clock, &t);
    return static_cast<double>(t.tv_sec) * 1e9 + static_cast<double>(t.tv_nsec);
}

class Component final : public bench::Port {
public:
    long none() override { return ++calls_; }
    long one(int a) override { return calls_ += a; }
    long four(int a, long b, unsigned c, int d) override { return calls_ += a + b + c + d; }

private:
    long calls_ = 0;
};

/* What anybody would write who has only clocks. */
class Timed final : public bench::Port {
public:
    explicit Timed(bench::Port &port) : port_(port) {}
    long none() override { return timed([&] { return port_.none(); }); }
    long one(int a) override { return timed([&] { return port_.one(a); }); }
    long four(int a, long b, unsigned c, int d) override { return timed([&] { return port_.four(a, b, c, d); }); }

private:
    template <class Call> long timed(Call call)
    {
        timespec from, to;
        clock_gettime(CLOCK_MONOTONIC, &from);
        const long result = call();
        clock_gettime(CLOCK_MONOTONIC, &to);
        sum_ += to.tv_nsec - from.tv_nsec;
        return result;
    }

    bench::Port &port_;
    long sum_ = 0;
};

template <class Call> double best(int rounds, int calls, Call call)
{
    double least = 1e300;
    for (int r = 0; r < rounds; r++) {
        const double begin = now(CLOCK_THREAD_CPUTIME_ID);
        for (int i = 0; i < calls; i++)
            call(i);
        const double each = (now(CLOCK_THREAD_CPUTIME_ID) - begin) / calls;
        least = each < least ? each : least;
    }
    return least;
}

}

int main(int argc, char **argv)
{
    const char *kind = argc > 1 ? argv[1] : "direct";
    const int rounds = argc > 2 ? std::atoi(argv[2]) : 5, calls = argc > 3 ? std::atoi(argv[3]) : 100000;
    Component component, second;
    Timed timed(component);
    bench::PortProxy proxy(component);
    const auto is = [&](const char *name) { return std::strcmp(kind, name) == 0; };
    const bool plain = is("direct") || is("gettime") || is("proxy") || is("sustained");
    bench::PortFamily family({component, second}, plain ? "trial" : kind);
    bench::Port *port = is("direct") ? static_cast<bench::Port *>(&component) : is("gettime") ? static_cast<bench::Port *>(&timed) : &proxy;
    if (!plain)
        port = &family;
    __asm__ volatile("" : "+r"(port)); /* so that calls stay virtual */
    volatile long sum = 0;
    if (is("sustained")) {
        const double begin = now(CLOCK_MONOTONIC);
        for (int i = 0; i < rounds * calls; i++)
            sum = port->one(i & 1023);
        std::printf("%.0f\n", 1e9 * rounds * calls / (now(CLOCK_MONOTONIC) - begin));
        return 0;
    }
    std::printf("0 %.2f\n", best(rounds, calls, [&](int) { sum = port->none(); }));
    std::printf("1 %.2f\n", best(rounds, calls, [&](int i) { sum = port->one(i & 1023); }));
    std::printf("4 %.2f\n", best(rounds, calls, [&](int i) { sum = port->four(i & 1023, i, 3, 4); }));
}
