// proxygen: --skip name
// Implementations with state: exchanged at quiet points only.
#include "simulated.hpp"
#include "stateful_family.hpp"

#include <cmath>
#include <stdexcept>

using simulated::served;

namespace {

class Member : public exchange::Solver {
public:
    Member(int id, std::uint64_t ns) : ns_(ns), id_(id) {}
    double solve(const std::vector<double> &u, int order) override
    {
        if (order < 0)
            throw std::runtime_error("no such order");
        simulated::now += ns_;
        return sum_ += static_cast<double>(u.size()) * order;
    }
    int sweep(int n) override { return n + id_; }
    int name() const override { return id_; }
    std::uint64_t ns_;

protected:
    int id_;
    double sum_ = 0;
};

class Moving : public Member, public marple::migratable {
public:
    using Member::Member;
    std::string export_state() override
    {
        if (stuck)
            throw std::runtime_error("not now");
        return std::to_string(sum_);
    }
    void import_state(const std::string &state) override { sum_ = std::stod(state); }
    bool stuck = false;
};

void policies()
{
    Member a(0, 10), b(1, 10), c(2, 10), d(3, 10);
    exchange::SolverFamily proxy({a, b, c, d}, "fixed:linear");
    exchange::Solver &port = proxy;
    EXPECT(port.sweep(5) == 6 && port.name() == 1);
    EXPECT(served.back() == "linear.sweep[solver]" && served.size() == 1);
    EXPECT(simulated::declared.size() == 1 &&
           simulated::declared[0] == "exchanged: {solver: {policies: [\"fixed:linear\"], implementations: [\"flat\", \"linear\", \"rough\", \"steep\"]}}");
    proxy.marple_policy("fixed:steep"); // from the next quiet point on
    EXPECT(port.sweep(5) == 6);
    proxy.marple_quiet();
    EXPECT(port.sweep(5) == 8 && port.name() == 3 && std::string(proxy.marple_current()) == "steep");
    const std::string expected = "expected model, trial, fixed:flat, fixed:linear, fixed:rough or fixed:steep";
    EXPECT(simulated::thrown([&] { proxy.marple_policy("best"); }) == "family solver: policy best: " + expected);
    EXPECT(simulated::thrown([&] { proxy.marple_policy("fixed:"); }) == "family solver: policy fixed:: " + expected);
    EXPECT(simulated::thrown([&] { proxy.marple_policy("model"); }).find("written without models") != std::string::npos);
    EXPECT(simulated::thrown([&] { proxy.marple_policy("fixed:rough"); }) ==
           "family solver: policy fixed:rough: its accuracy is 0.1, and the limit accuracy \u2265 0.5");
    EXPECT(simulated::thrown([&] { exchange::SolverFamily({a, b, c, d}, "best"); }) == "family solver: policy best: " + expected);
    EXPECT(port.sweep(5) == 8);
    // What a component throws arrives, and its invocation has ended.
    EXPECT(simulated::thrown([&] { port.solve({}, -1); }) == "no such order" && simulated::open == 0);
}

// State goes on in whoever serves, and the best one ends up serving, also when it changes.
void migration()
{
    Moving a(0, 300), b(1, 100), c(2, 1), d(3, 200);
    exchange::SolverFamily proxy({a, b, c, d}, "trial");
    exchange::Solver &port = proxy;
    double sum = 0;
    std::vector<int> who(4), late(4);
    for (int step = 0; step < 2000; step++) {
        if (step == 1000)
            b.ns_ = 1000;
        for (int call = 0; call < 3; call++)
            EXPECT(port.solve({1, 2}, 1) == (sum += 2));
        (step < 1000 ? who : late)[static_cast<std::size_t>(port.name())]++;
        proxy.marple_quiet();
    }
    EXPECT(who[1] > 950 && who[2] == 0 && late[3] > 900 && late[2] == 0);
    // A component whose state cannot be had goes on.
    const std::string before = proxy.marple_current();
    a.stuck = b.stuck = c.stuck = d.stuck = true;
    proxy.marple_policy(before == "flat" ? "fixed:linear" : "fixed:flat");
    EXPECT(simulated::thrown([&] { proxy.marple_quiet(); }) == "not now" && proxy.marple_current() == before);
    EXPECT(port.solve({1, 2}, 1) == sum + 2);
    Member plain(0, 1);
    exchange::SolverFamily mixed({a, plain, c, d});
    EXPECT(simulated::thrown([&] { mixed.marple_quiet(); }) ==
           "family solver: some of its implementations are marple::migratable and others are not");
}

// One that throws, and be it on one rank and now and then, serves no more until times change.
void failure()
{
    Member a(0, 100), b(1, 200), c(2, 1), d(3, 300);
    exchange::SolverFamily proxy({a, b, c, d}, "trial");
    exchange::Solver &port = proxy;
    int failed = 0, late = 0, calls = 0;
    for (int step = 0; step < 2000; step++) {
        if (step == 1000)
            b.ns_ = 2000;
        for (int call = 0; call < 3; call++) {
            const bool fails = port.name() == 0 && ++calls % 20 == 0;
            failed += simulated::thrown([&] { port.solve({}, fails ? -1 : 1); }) == "no such order";
        }
        late += step >= 500 && step < 1000 && port.name() == 0;
        proxy.marple_quiet();
    }
    EXPECT(failed == 2 && late == 0 && port.name() == 3);
    // On another rank.
    Member e(0, 100), f(1, 200);
    exchange::SolverFamily other({e, f, c, d}, "trial");
    exchange::Solver &second = other;
    second.solve({}, 1);
    other.marple_quiet([](long long *values, int) { values[2]++; });
    EXPECT(second.name() == 1);
}

// What is counted is counted from one quiet point or policy to the next.
void counts()
{
    Member a(0, 100), b(1, 200), c(2, 1), d(3, 300);
    exchange::SolverFamily proxy({a, b, c, d}, "trial");
    exchange::Solver &port = proxy;
    const auto counted = [&] {
        long long calls = -1;
        proxy.marple_quiet([&](long long *values, int) { calls = values[0]; });
        return calls;
    };
    const auto solve = [&](int calls) {
        while (calls-- > 0)
            port.solve({}, 1);
    };
    solve(3);
    proxy.marple_policy("fixed:flat");
    proxy.marple_policy("trial");
    solve(2);
    EXPECT(counted() == 2);
    solve(3);
    proxy.marple_policy("fixed:flat");
    EXPECT(counted() == -1); // nothing to agree about
    solve(3);
    proxy.marple_policy("trial");
    solve(1);
    EXPECT(counted() == 1 && counted() == 0);
}

// By model, what is not known never wins, on as many ranks as there may be.
double known;
void unknown()
{
    constexpr const char *names[] = {"a", "b", "c"}, *barred[] = {nullptr, nullptr, nullptr};
    Member a(0, 1), b(1, 1), c(2, 1);
    const marple::target<exchange::Solver> targets[] = {a, b, c};
    for (double odd : {std::nan(""), HUGE_VAL, -HUGE_VAL, -5.0, 0.0, 1e300}) {
        known = odd;
        marple::family<exchange::Solver, 3, 1> family(
            "f", names, barred, targets,
            [](std::size_t, const double *, double *ns) {
                ns[0] = known;
                ns[1] = 2000;
                ns[2] = 1000;
                return true;
            },
            false, "model");
        EXPECT(family.current() == 0);
        for (int call = 0; call < 5000; call++)
            marple::family<exchange::Solver, 3, 1>::service(family, 0);
        family.quiet([](long long *values, int n) {
            for (int i = 0; i < n; i++)
                EXPECT(!__builtin_mul_overflow(values[i], 1 << 20, &values[i]));
        });
        EXPECT(family.current() == 2);
    }
}

// Ranks that see different times take the same implementation all the same.
void agreement()
{
    constexpr int ranks = 4;
    simulated::random random(7);
    std::vector<Member> members;
    std::vector<exchange::SolverFamily *> proxies;
    members.reserve(4 * ranks);
    for (int rank = 0; rank < ranks; rank++) {
        for (int i = 0; i < 4; i++)
            members.emplace_back(i, 0);
        Member *m = &members[static_cast<std::size_t>(4 * rank)];
        proxies.push_back(new exchange::SolverFamily({m[0], m[1], m[2], m[3]}));
    }
    std::vector<int> changes(4);
    for (int step = 0; step < 500; step++) {
        std::vector<std::vector<long long>> told;
        for (int rank = 0; rank < ranks; rank++) {
            for (int i = 0; i < 4; i++)
                members[static_cast<std::size_t>(4 * rank + i)].ns_ = static_cast<std::uint64_t>(1 + random() * 1000 * (i + 1));
            for (int calls = 0; calls < 1 + rank; calls++)
                proxies[static_cast<std::size_t>(rank)]->solve({}, 1);
        }
        // As MPI_Allreduce does it: all are asked, then all are told. The first round only listens.
        std::vector<long long> sum(7);
        struct listening {};
        for (auto *p : proxies) {
            try {
                p->marple_quiet([&](long long *values, int n) {
                    EXPECT(n == 7);
                    told.emplace_back(values, values + n);
                    throw listening();
                });
            } catch (const listening &) {
            }
        }
        EXPECT(told.size() == ranks);
        for (const auto &one : told)
            for (std::size_t i = 0; i < sum.size(); i++)
                sum[i] += one[i];
        for (auto *p : proxies)
            p->marple_quiet([&](long long *values, int n) { std::copy_n(sum.begin(), n, values); });
        for (auto *p : proxies)
            EXPECT(p->name() == proxies[0]->name());
        changes[static_cast<std::size_t>(proxies[0]->name())]++;
    }
    EXPECT(changes[0] > 250 && changes[1] > 0 && changes[2] == 0 && changes[3] > 0);
    for (auto *p : proxies)
        delete p;
}

}

int main()
{
    policies();
    migration();
    failure();
    counts();
    unknown();
    agreement();
}
