// proxygen: --stateless --skip name --param solve:n=u.size() --param sweep:n=n --rules families/ruled.yaml
// Rules where each call may be served by another one; and what holds of managers and of the simplex whatever they are given.
#include "ruled_family.hpp"
#include "simulated.hpp"

#include <algorithm>
#include <cmath>
#include <condition_variable>
#include <mutex>
#include <thread>

using simulated::fired;

namespace {

class Member : public exchange::Solver, public marple::tunable {
public:
    explicit Member(int id) : id_(id) {}
    double solve(const std::vector<double> &, int) override { return id_; }
    int sweep(int n) override
    {
        simulated::now += static_cast<std::uint64_t>(ns_);
        return n * 0 + id_;
    }
    int name() const override { return id_; }
    std::vector<marple::setting> settings() const override { return {{"block", 1, 8, 1}}; }
    long long get(const std::string &) const override { return block_; }
    void set(const std::string &, long long value) override { block_ = value; }
    long long block_ = 1;
    int ns_ = 1000;

private:
    int id_;
};

// Each call is served by whom the rules say for its parameters, as long as there are changes left.
void calls()
{
    Member a(0), b(1), c(2), d(3);
    exchange::SolverFamily proxy({a, b, c, d});
    for (int i = 0; i < 30; i++)
        EXPECT(proxy.sweep(i % 2 ? 10 : 100) == (i % 2 ? 3 : 0));
    EXPECT(fired.size() == 29 && fired.back().rule == "small" && fired.back().values.at("n") == 10);
    d.ns_ = 80000; // by a mean of the calls since it serves
    EXPECT(proxy.sweep(10) == 3 && proxy.sweep(10) == 3 && proxy.sweep(10) == 1 && b.block_ == 1);
    proxy.marple_quiet(); // settings only here
    EXPECT(b.block_ == 4 && a.block_ == 4);
    d.ns_ = 1000;
    EXPECT(proxy.sweep(3) == 3); // its end
    for (int i = 0; i < 100; i++)
        proxy.sweep(i % 2 ? 10 : 100);
    EXPECT(fired.back().values.at("change") == 40); // and no more
    const std::size_t all = fired.size();
    EXPECT(proxy.sweep(10) == proxy.sweep(100) && fired.size() == all && all == 40);
}

// A table of rules that nothing but the test knows: choices and settings of five implementations by two metrics.
struct Table {
    std::vector<marple::rule> list;
    marple::metric metrics[2] = {{"x", marple::metric_of::parameter, 0}, {"y", marple::metric_of::told, 0}};
    marple::rules rules{};
};
constexpr std::size_t uses[] = {0, 1};
constexpr signed char which[] = {0, -1};
constexpr const char *settings[][2] = {{"block", "set.block"}};
constexpr const char *names[] = {"a", "b", "c", "d", "e"};
constexpr marple::setting_to set[] = {{0, 1}, {0, 2}, {0, 3}};
constexpr std::size_t tune[] = {0};
double low[8], high[8]; // a rule is on where x is above, until it is below
unsigned state(std::size_t r, const double *m, std::size_t)
{
    const double x = m[0] + m[1];
    return !marple::known(m, 0, 1) ? 0 : (x > high[r] ? 1u : 0u) | (x < low[r] ? 2u : 0u) | 12u;
}

Table random_table(simulated::random &random, std::size_t rules, bool tunes)
{
    Table t;
    for (std::size_t r = 0; r < rules; r++) {
        low[r] = random() * 10;
        high[r] = low[r] + random() * 4;
        t.list.push_back({"rule", "", 1 + static_cast<std::uint32_t>(random() * 8), static_cast<int>(random() * 3), static_cast<int>(random() * 5), false,
                          set + static_cast<int>(random() * 3), random() < 0.5, nullptr, 0, 0, 0, uses, 2});
        if (tunes && r == 0) {
            t.list[0].sets = 0;
            t.list[0].tune = tune;
            t.list[0].tuned = 1;
            t.list[0].calls = 3;
            t.list[0].evaluations = 30;
        }
    }
    return t;
}

// Choices change at most twice for each row of looks that a rule comes on after, and as often as was allowed.
void hysteresis(std::uint64_t seed)
{
    simulated::random random(seed);
    Table t = random_table(random, 1 + seed % 6, false);
    const std::uint32_t allowed = seed % 3 ? 1000000 : 20;
    t.rules = {t.list.data(), t.list.size(), t.metrics, 2, settings, 0, which, state, 1, allowed, false};
    for (auto &r : t.list)
        r.sets = 0;
    marple::manager manager("f", t.rules, 5, names);
    manager.tell("y", 0);
    const int looks = 3000;
    std::size_t serving = 0, changes = 0;
    double bound = 0;
    for (const auto &r : t.list)
        bound += 2.0 * (looks / r.looks + 1);
    for (int look = 0; look < looks; look++) {
        const double x = random() < 0.1 ? std::nan("") : random() * 14;
        const std::size_t next = manager.look(0, &x, serving);
        EXPECT(next < 5);
        changes += next != serving;
        serving = next;
    }
    EXPECT(static_cast<double>(changes) <= bound && changes <= allowed);
}

// A sum over ranks that are threads.
class Sums {
public:
    explicit Sums(int ranks) : ranks_(ranks) {}
    void operator()(long long *values, int n)
    {
        std::unique_lock<std::mutex> lock(mutex_);
        const int round = round_;
        if (sum_.empty())
            sum_.assign(values, values + n);
        else
            for (int i = 0; i < n; i++)
                sum_[static_cast<std::size_t>(i)] += values[i];
        if (++come_ == ranks_) {
            result_.swap(sum_);
            sum_.clear();
            come_ = 0;
            round_++;
            all_.notify_all();
        }
        all_.wait(lock, [&] { return round_ != round; });
        std::copy(result_.begin(), result_.end(), values);
    }

private:
    const int ranks_;
    int come_ = 0, round_ = 0;
    std::vector<long long> sum_, result_;
    std::mutex mutex_;
    std::condition_variable all_;
};

class Block : public marple::tunable {
public:
    std::vector<marple::setting> settings() const override { return {{"block", 1, 32, 1}}; }
    long long get(const std::string &) const override { return block_; }
    void set(const std::string &, long long value) override { block_ = value; }
    long long block_ = 4;
};

// Four ranks that see different times, sizes and errors make the same choices, at every quiet point.
void agreement(std::uint64_t seed)
{
    constexpr int ranks = 4, steps = 400;
    simulated::random random(seed);
    Table t = random_table(random, 5, true);
    t.rules = {t.list.data(), t.list.size(), t.metrics, 2, settings, 1, which, state, 1, 1000000, true};
    std::vector<std::vector<long long>> chosen(ranks);
    Sums sums(ranks);
    std::vector<std::thread> threads;
    for (int rank = 0; rank < ranks; rank++)
        threads.emplace_back([&, rank] {
            simulated::muted = true;
            simulated::random own(seed * ranks + static_cast<std::uint64_t>(rank));
            marple::manager manager("f", t.rules, 5, names);
            Block blocks[5];
            std::size_t serving = 0;
            for (int step = 0; step < steps; step++) {
                manager.tell("y", own() < 0.1 ? std::nan("") : own() * 2);
                for (int call = 0; call < 2 + rank % 2; call++) {
                    const double x = (own() + std::sin(step * 0.05) + 1) * 5;
                    manager.note(0, &x);
                    manager.took(serving, 100 + own() * 50 + std::fabs(static_cast<double>(blocks[serving].block_) - 20), own() < 0.01);
                }
                const std::size_t next = manager.decide(serving, [&](long long *values, int n) { sums(values, n); });
                if (next != serving)
                    manager.moved(serving, next);
                serving = next;
                manager.settle(serving, true, [&](std::size_t i) { return &blocks[i]; });
                auto &mine = chosen[static_cast<std::size_t>(rank)];
                mine.push_back(static_cast<long long>(serving));
                for (const Block &b : blocks)
                    mine.push_back(b.block_);
            }
        });
    for (auto &one : threads)
        one.join();
    for (const auto &other : chosen)
        EXPECT(other == chosen[0]);
    const auto ends = std::minmax_element(chosen[0].begin(), chosen[0].end());
    EXPECT(*ends.first != *ends.second);
}

// Convex in each of its variables, and of their sum: without a neighbour that takes less it is the least one.
struct Bowl {
    double left[4], right[4], power[4], center[4];
    std::size_t n;
    double operator()(const marple::simplex::point &p) const
    {
        double sum = 1000;
        for (std::size_t i = 0; i < n; i++) {
            const double d = static_cast<double>(p.x[i]) - center[i];
            sum += (d < 0 ? left[i] : right[i]) * std::pow(std::fabs(d), power[i]);
        }
        return sum;
    }
};

// The least of all is found, on lattices of up to 256 points in each dimension: of one and two after no more evaluations than
// these; of more nearly always, and it never says so of another one.
constexpr std::size_t evaluations[] = {0, 20, 90, 500, 500};
int stopped;

std::size_t bowl(std::uint64_t seed)
{
    simulated::random random(seed);
    Bowl f;
    f.n = 1 + seed % 4;
    long long counts[4], start[4];
    marple::simplex::point least = {};
    for (std::size_t i = 0; i < f.n; i++) {
        counts[i] = 1 + static_cast<long long>(random() * 256);
        start[i] = static_cast<long long>(random() * static_cast<double>(counts[i]));
        f.center[i] = (random() * 1.4 - 0.2) * static_cast<double>(counts[i]);
        f.left[i] = 0.1 + 10 * random();
        f.right[i] = 0.1 + 10 * random();
        f.power[i] = 1 + random() * 2;
    }
    marple::simplex s(evaluations[f.n]);
    s.begin(f.n, counts, start);
    for (std::size_t i = 0; i < s.dimensions; i++)
        least.x[i] = 0;
    for (std::size_t i = 0; i < f.n; i++) { // each for itself
        double best = HUGE_VAL;
        marple::simplex::point p = {};
        for (long long k = 0; k < counts[i]; k++) {
            p.x[i] = k;
            Bowl one = f;
            for (std::size_t j = 0; j < f.n; j++)
                if (j != i)
                    one.left[j] = one.right[j] = 0;
            if (one(p) < best) {
                best = one(p);
                least.x[i] = k;
            }
        }
    }
    while (!s.done()) {
        for (std::size_t i = 0; i < f.n; i++)
            EXPECT(s.next().x[i] >= 0 && s.next().x[i] < counts[i]);
        s.tell(f(s.next()));
    }
    stopped += s.stopped();
    if (s.stopped() ? f.n <= 2 : f(s.best()) > f(least))
        std::printf("seed %llu, %zu dimensions: %zu evaluations, %g instead of %g\n", static_cast<unsigned long long>(seed), f.n, s.evaluations(), f(s.best()), f(least));
    EXPECT(s.stopped() ? f.n > 2 : f(s.best()) <= f(least));
    return s.evaluations();
}

// Whatever is measured, there is an end, and the best one that was measured is the one that is taken.
void noise(std::uint64_t seed)
{
    simulated::random random(seed);
    marple::simplex s(40);
    const long long counts[] = {1 + static_cast<long long>(random() * 50), 1LL << 53, 1, 3}, start[] = {0, 1LL << 40, 0, 2};
    s.begin(1 + seed % 4, counts, start);
    double least = HUGE_VAL;
    marple::simplex::point best = s.next();
    int told = 0;
    for (; !s.done(); told++) {
        const double x = seed % 5 ? random() * 100 : told % 3 ? HUGE_VAL : std::nan("");
        if (std::isfinite(x) && x < least) {
            least = x;
            best = s.next();
        }
        s.tell(x);
    }
    EXPECT(told <= 40 && s.best() == best);
}

}

int main()
{
    calls();
    for (std::uint64_t seed = 1; seed <= 300; seed++)
        hysteresis(seed);
    for (std::uint64_t seed = 1; seed <= 20; seed++)
        agreement(seed);
    std::size_t most[5] = {}, sum[5] = {}, n[5] = {};
    for (std::uint64_t seed = 1; seed <= 800; seed++) {
        const std::size_t used = bowl(seed);
        most[1 + seed % 4] = std::max(most[1 + seed % 4], used);
        sum[1 + seed % 4] += used;
        n[1 + seed % 4]++;
    }
    EXPECT(stopped <= 8);
    for (std::size_t d = 1; d <= 4; d++)
        std::printf("%zu dimensions: %zu evaluations at most, %.1f in the mean\n", d, most[d], static_cast<double>(sum[d]) / static_cast<double>(n[d]));
    for (std::uint64_t seed = 1; seed <= 200; seed++)
        noise(seed);
}
