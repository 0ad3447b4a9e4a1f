// proxygen: --skip name --param solve:n=u.size() --param sweep:n=n --rules families/managed.yaml
// A family with state that rules manage: at quiet points, on a clock that only the components move.
#include "managed_family.hpp"
#include "simulated.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <stdexcept>

using simulated::fired;

namespace {

long long best_block = 37, best_unroll = 5;

class Member : public exchange::Solver, public marple::migratable, public marple::tunable {
public:
    explicit Member(int id) : id_(id) {}
    double solve(const std::vector<double> &u, int order) override
    {
        if (order < 0)
            throw std::runtime_error("diverged");
        const std::uint64_t n = u.size();
        if (id_ == 0)
            simulated::now += 10 * n;
        else if (id_ == 1)
            simulated::now += 4 * n + static_cast<std::uint64_t>(20 * std::llabs(block_ - best_block) + 100 * std::llabs(unroll_ - best_unroll));
        else
            simulated::now += 30 * n;
        return ++sum_;
    }
    int sweep(int n) override { return n; }
    int name() const override { return id_; }
    std::string export_state() override { return std::to_string(sum_); }
    void import_state(const std::string &state) override { sum_ = std::stol(state); }
    std::vector<marple::setting> settings() const override
    {
        if (id_ == 1)
            return {{"block", 1, 128, 1}, {"unroll", 1, 8, 1}};
        if (id_ == 0)
            return {{"order", 0, 4, 2}};
        return {};
    }
    long long get(const std::string &name) const override { return name == "block" ? block_ : name == "unroll" ? unroll_ : order_; }
    void set(const std::string &name, long long value) override { (name == "block" ? block_ : name == "unroll" ? unroll_ : order_) = value; }
    long long block_ = 8, unroll_ = 1, order_ = 0;

private:
    int id_;
    long sum_ = 0;
};

struct Assembly {
    Member a{0}, b{1}, c{2}, d{3};
    exchange::SolverFamily proxy{{a, b, c, d}};
    double sum = 0;
    int calls = 0, step = 0;
    void run(std::size_t n, int steps)
    {
        const std::vector<double> u(n);
        for (int end = step + steps; step < end; step++) {
            for (int k = 0; k < 4; k++)
                sum = proxy.solve(u, 1);
            calls += 4;
            EXPECT(sum == calls); // the state has moved
            proxy.marple_quiet();
        }
    }
    std::string who() const { return proxy.marple_current(); }
};

double value(const simulated::firing &f, const char *name) { return f.values.count(name) ? f.values.at(name) : std::nan(""); }

// The size grows: another one serves, once it has been large for three quiet points; its block is tuned to the best one.
void grows()
{
    Assembly w;
    fired.clear();
    EXPECT(w.who() == "flat");
    w.run(100, 10);
    EXPECT(w.who() == "flat" && w.a.order_ == 2);
    EXPECT(fired.size() == 1 && fired[0].rule == "order" && value(fired[0], "set.order") == 2 && value(fired[0], "serving.flat") == 1);
    fired.clear();
    w.run(900, 10); // neither
    w.run(1000, 2); // not long enough
    w.run(900, 1);
    w.run(1000, 2);
    EXPECT(w.who() == "flat" && fired.empty());
    w.run(1000, 1);
    EXPECT(w.who() == "linear" && !fired.empty());
    EXPECT(fired[0].rule == "large" && value(fired[0], "n") == 1000 && value(fired[0], "from") == 0 && value(fired[0], "to") == 1 && value(fired[0], "change") == 2);
    w.run(1000, 60);
    EXPECT(w.who() == "linear" && w.b.block_ == best_block && w.b.unroll_ == best_unroll);
    const simulated::firing &end = fired.back();
    EXPECT(end.rule == "block" && value(end, "tuning") == 2 && value(end, "set.block") == 37 && value(end, "set.unroll") == 5);
    EXPECT(std::fabs(value(end, "measured") - 4000e-9) < 1e-12 && value(end, "evaluations") <= 60);
    std::printf("block and unroll of 1,024 points found after %.0f\n", value(end, "evaluations"));
    // While nothing changes nothing is done.
    const std::size_t so_far = fired.size();
    w.run(1000, 200);
    EXPECT(fired.size() == so_far);
    // A few others are no drift; where all are, the search begins anew.
    w.run(2100, 2);
    w.run(1000, 20);
    EXPECT(fired.size() == so_far);
    best_block = 100;
    w.run(2100, 80);
    EXPECT(fired.size() > so_far && value(fired[so_far], "tuning") == 4 && w.b.block_ == 100 && w.b.unroll_ == 5);
    // Times are others, and inputs are not: for eight quiet points.
    const std::size_t then = fired.size();
    best_block = 1;
    w.run(2100, 7);
    EXPECT(fired.size() == then);
    best_unroll = 8;
    w.run(2100, 80);
    EXPECT(fired.size() > then && (value(fired[then], "tuning") == 5 && w.b.block_ == 1 && w.b.unroll_ == 8));
    best_block = 37;
    best_unroll = 5;
}

// What counts more counts; when it goes off, what is still on has its way again.
void priorities()
{
    Assembly w;
    w.run(2000, 5);
    EXPECT(w.who() == "linear");
    fired.clear();
    w.proxy.marple_tell("error", 0.5);
    w.proxy.marple_tell("nothing", 7); // which no rule looks at
    w.run(2000, 1);
    EXPECT(w.who() == "steep" && fired.back().rule == "inaccurate" && value(fired.back(), "error") == 0.5 && value(fired.back(), "overruled") == 1);
    w.proxy.marple_tell("error", 0.05); // within the dead band
    w.run(2000, 20);
    EXPECT(w.who() == "steep");
    w.proxy.marple_tell("error", 0.001);
    w.run(2000, 1);
    EXPECT(w.who() == "linear");
    w.proxy.marple_tell("error", std::nan("")); // nothing is known
    w.run(2000, 5);
    EXPECT(w.who() == "linear");
    // Whoever fails is left.
    w.run(10, 5);
    EXPECT(w.who() == "flat");
    EXPECT(simulated::thrown([&] { w.proxy.solve({}, -1); }) == "diverged");
    w.run(10, 1);
    EXPECT(w.who() == "linear");
    w.run(10, 4);
    EXPECT(w.who() == "linear"); // for 20 calls, from when its block has been tuned on
    w.run(10, 60);
    EXPECT(w.who() == "flat");
}

// Others than rules: nothing fires.
void others()
{
    Assembly w;
    w.proxy.marple_policy("fixed:steep");
    fired.clear();
    w.run(2000, 10);
    EXPECT(w.who() == "steep" && fired.empty());
    w.proxy.marple_policy("rules");
    w.run(2000, 10);
    EXPECT(w.who() == "linear");
    EXPECT(simulated::thrown([&] { w.proxy.marple_policy("model"); }) == "family solver: policy model: the proxy was written without models; write it with --policy model");
    bool told = false;
    for (const std::string &text : simulated::declared)
        told = told || text == "exchanged: {solver: {rules: [{rule: large, when: \"n >= large until n < small for 3 looks\", then: \"migrate to linear\", at: \"managed.yaml:7\"}], changes: 1000}}";
    EXPECT(told);
}

// What the rules ask for and no component has is told at the first quiet point.
class Plain : public exchange::Solver {
public:
    double solve(const std::vector<double> &, int) override { return 0; }
    int sweep(int) override { return 0; }
    int name() const override { return 0; }
};

class Odd : public Plain, public marple::migratable, public marple::tunable {
public:
    explicit Odd(std::vector<marple::setting> settings) : settings_(std::move(settings)) {}
    std::string export_state() override { return ""; }
    void import_state(const std::string &) override {}
    std::vector<marple::setting> settings() const override { return settings_; }
    long long get(const std::string &) const override { return 0; }
    void set(const std::string &, long long) override {}

private:
    std::vector<marple::setting> settings_;
};

void absent()
{
    const auto quiet = [](exchange::Solver &p) {
        exchange::SolverFamily proxy({p, p, p, p});
        return simulated::thrown([&] { proxy.marple_quiet(); });
    };
    Plain plain;
    EXPECT(quiet(plain) == "family solver: rule inaccurate migrates, and no implementation is marple::migratable");
    Odd none({}), order({{"order", 0, 8, 2}}), coarse({{"order", 0, 8, 4}}), narrow({{"order", 0, 1, 1}}), wrong({{"order", 0, 8, 0}}),
        half({{"order", 0, 8, 2}, {"block", 1, 8, 1}});
    EXPECT(quiet(none) == "rule block tunes block and others, which no implementation has");
    EXPECT(quiet(half) == "rule block tunes block and others, which no implementation has");
    EXPECT(quiet(order) == "rule block tunes block and others, which no implementation has");
    Odd block({{"block", 1, 8, 1}, {"unroll", 1, 8, 1}});
    EXPECT(quiet(block) == "rule order sets order, which no implementation has");
    Odd all({{"block", 1, 8, 1}, {"unroll", 1, 8, 1}, {"order", 0, 8, 4}});
    EXPECT(quiet(all) == "rule order sets order to 2, and flat has 0 to 8 in steps of 4");
    EXPECT(quiet(wrong) == "setting order of flat: expected least <= most and a step of at least 1");
}

}

int main()
{
    grows();
    priorities();
    others();
    absent();
}
