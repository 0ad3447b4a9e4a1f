// proxygen: --stateless --policy model --skip name --param solve:n=u.size() --param sweep:n=n
// Implementations without state: each call is served by its own. Times are those of the models, or others.
#include "simulated.hpp"
#include "stateless_family.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace {

double scale[4] = {1, 1, 1, 1}; // what implementations take beside what their models say
int faulty = -1;

double ns(std::size_t who, double n)
{
    const double times[] = {6000, 100 * n, n, 1000 + n * n};
    return scale[who] * times[who];
}

class Member : public exchange::Solver {
public:
    explicit Member(int id) : id_(id) {}
    double solve(const std::vector<double> &, int) override { return id_; }
    int sweep(int n) override
    {
        if (faulty == id_) {
            simulated::now += 5;
            throw std::runtime_error("diverged");
        }
        simulated::now += static_cast<std::uint64_t>(ns(static_cast<std::size_t>(id_), n));
        return id_;
    }
    int name() const override { return id_; }

private:
    int id_;
};

Member a(0), b(1), c(2), d(3);

double best(double n) { return std::min({ns(0, n), ns(1, n), ns(3, n)}); }

// The choice by model is the best one for every size, and never one that the limits leave out.
void model()
{
    exchange::SolverFamily proxy({a, b, c, d});
    exchange::Solver &port = proxy;
    for (int n = 1; n < 200; n++)
        EXPECT(ns(static_cast<std::size_t>(port.sweep(n)), n) == best(n));
    EXPECT(port.solve(std::vector<double>(5), 1) == 1 && port.solve(std::vector<double>(50), 1) == 3);
    EXPECT(port.name() == 0); // no choice of its own
    proxy.marple_policy("fixed:linear"); // counts at once
    EXPECT(port.sweep(2) == 1 && port.name() == 1);
}

// By trial: the best one changes with the size and in mid-run. At most 5 % above whoever knew, and never more than the
// worst fixed choice.
void trial()
{
    exchange::SolverFamily proxy({a, b, c, d}, "trial");
    simulated::random random(3);
    double clairvoyant = 0, fixed[4] = {};
    const std::uint64_t begin = simulated::now;
    for (int call = 0; call < 60000; call++) {
        if (call == 20000)
            scale[1] = 8; // linear gets slow
        if (call == 40000) {
            scale[1] = 1;
            scale[3] = 0.05; // steep gets fast
        }
        const int n = 1 << static_cast<int>(random() * 8);
        proxy.sweep(n);
        clairvoyant += best(n);
        for (std::size_t i = 0; i < 4; i++)
            fixed[i] += ns(i, n);
    }
    const double took = static_cast<double>(simulated::now - begin), worst = std::max({fixed[0], fixed[1], fixed[3]});
    std::printf("trial: %.4f of the clairvoyant, %.4f of the worst\n", took / clairvoyant, took / worst);
    EXPECT(took <= 1.05 * clairvoyant && took <= worst);
    for (double &s : scale)
        s = 1;
}

// What an implementation throws arrives; others serve from then on.
void failure()
{
    exchange::SolverFamily proxy({a, b, c, d}, "trial");
    faulty = 1;
    int failed = 0;
    for (int call = 0; call < 1000; call++)
        failed += simulated::thrown([&] { proxy.sweep(4); }) == "diverged";
    faulty = -1;
    EXPECT(failed == 1 && simulated::open == 0);
}

// An arm that fails now and then is dropped at once while there is another one, and comes back when times change.
// Failing changes nothing of what trials may cost.
void failures()
{
    const bool both[] = {true, true}, one[] = {false, true}, all[] = {true, true, true};
    marple::bandit<2> bandit;
    bandit.allow(both);
    int served = 0, failed = 0;
    for (int call = 0; call < 4000; call++) {
        const std::size_t i = bandit.next();
        if (i == 0 && ++served % 20 == 0) {
            failed++;
            bandit.fail(i);
        } else {
            bandit.tell(i, i == 0 ? 100 : call < 2000 ? 200 : 1600);
        }
        EXPECT(call != 1999 || failed == 1);
    }
    EXPECT(failed == 2 && bandit.next() == 1);

    marple::bandit<2> alone, hopeless;
    alone.allow(one);
    hopeless.allow(both);
    int who[2] = {};
    for (int call = 0; call < 100; call++) {
        EXPECT(alone.next() == 1);
        alone.fail(1);
        who[hopeless.next()]++;
        hopeless.fail(hopeless.next());
    }
    EXPECT(who[0] == 50 && who[1] == 50);

    marple::bandit<3> three;
    three.allow(all);
    three.fail(three.next());
    double sum = 0, dear = 0;
    for (int call = 0; call < 20000; call++) {
        const std::size_t i = three.next();
        const double ns = i == 2 ? 10000 : 100;
        sum += ns;
        dear += i == 2 ? ns : 0;
        three.tell(i, ns);
    }
    EXPECT(dear < 0.05 * sum);
}

// A size is a sign and a power of two, as the analysis has it: see TestSizes of analysis/invocation.
void sizes()
{
    const std::vector<std::pair<double, unsigned>> expected = {
        {0.0, 0}, {-0.0, 0}, {0.99, 0}, {-0.99, 0}, {5e-324, 0}, {1, 1}, {1.99, 1}, {2, 2}, {1e308, 1024}, {-1, 2049}, {-3.5, 2050},
        {HUGE_VAL, 0}, {-HUGE_VAL, 0}, {std::nan(""), 0}, {-std::nan(""), 0}};
    for (const auto &[x, size] : expected)
        EXPECT(marple::bandits<2>::size(x) == size);
}

// More sizes than the table has room for share what is left.
void crowd()
{
    marple::bandits<2> table;
    const bool allowed[] = {true, true};
    table.allow(allowed);
    double x[] = {0, 0};
    marple::bandit<2> *last = nullptr;
    for (int i = 0; i < 40; i++)
        for (int j = 0; j < 40; j++) {
            x[0] = std::ldexp(1, i);
            x[1] = -std::ldexp(1, j);
            last = &table.of(x, 2);
        }
    EXPECT(last == &table.of(x, 2));
    for (double odd : {0.0, -0.0, 0.5, std::nan(""), HUGE_VAL, -HUGE_VAL, 1e308}) {
        x[0] = odd;
        table.of(x, 1).tell(0, odd);
    }
}

/*
 * Regret on random families: what the bandit takes more than the best arm is at most each arm's first calls, the share of
 * trials, and what it takes to tell arms apart that noise hides: 8 variance ln T / difference for each (Auer and others).
 */
template <std::size_t N> void regret(std::uint64_t seed)
{
    simulated::random random(seed);
    marple::bandit<N> bandit;
    bool allowed[N];
    double mean[N], best = HUGE_VAL, worst = 0;
    for (std::size_t i = 0; i < N; i++) {
        allowed[i] = true;
        mean[i] = 100 * std::exp2(4 * random());
        best = std::min(best, mean[i]);
        worst = std::max(worst, mean[i]);
    }
    bandit.allow(allowed);
    const double noise = 0.5 * random(); // of the natural logarithm: uniform, of this half width
    const int calls = 20000;
    double regret = 0, bound = 0;
    for (int t = 0; t < calls; t++) {
        const std::size_t i = bandit.next();
        EXPECT(i < N);
        bandit.tell(i, mean[i] * std::exp(noise * (2 * random() - 1)));
        regret += mean[i] - best;
    }
    const double deviation = std::max(noise / std::sqrt(3), 0.02);
    for (double m : mean) {
        const double difference = std::log(m / best);
        if (difference > 0)
            bound += std::min(calls * (m - best), 8 * deviation * deviation * std::log(calls) / difference / difference * (m - best)) + 4 * worst;
    }
    bound += 0.02 * calls * best * (1 + noise);
    if (regret > bound)
        std::printf("seed %llu, %zu arms, noise %.3f: regret %.0f, bound %.0f, of %.0f\n", static_cast<unsigned long long>(seed), N, noise, regret, bound, calls * best);
    EXPECT(regret <= bound);
}

}

int main()
{
    model();
    trial();
    failure();
    failures();
    sizes();
    crowd();
    for (std::uint64_t seed = 1; seed <= 60; seed++) {
        regret<2>(seed);
        regret<3>(seed);
        regret<6>(seed);
    }
}
