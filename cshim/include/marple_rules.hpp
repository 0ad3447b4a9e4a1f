/*
 * Managers of components: they look at rules, which `marple proxygen --family --rules` has compiled into a proxy, and
 * choose who serves and with which settings. See marple_optimizer.hpp, whose policy `rules` this is.
 *
 * A rule comes on when its condition has held in so many looks in a row, and goes off when its end holds. Of those that
 * are on, the first one that wants something of a thing has it; where there is none, all stays as it is. A look is a
 * call where each one may be served by another implementation, else a quiet point. Where a metric is not known, what is
 * said of it neither holds nor fails to. Nothing is allocated in a call, and no thread waits for another one.
 */
#ifndef MARPLE_RULES_HPP
#define MARPLE_RULES_HPP

#include "marple.hpp"

#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace marple {

/* A parameter of a component that may be set while it runs, to least + k * step up to most. */
struct setting {
    const char *name;
    long long least, most, step;
};

/*
 * A component with such parameters. They are given and asked for at quiet points only. Where ranks agree, their ranges
 * and their values at first must be the same on all of them.
 */
class tunable {
public:
    virtual ~tunable() = default;
    virtual std::vector<setting> settings() const = 0;
    virtual long long get(const std::string &name) const = 0;
    virtual void set(const std::string &name, long long value) = 0;
};

/* Of conditions. What divides by nothing compares with nothing, and raises no exception. */
inline double over(double a, double b) noexcept { return b == 0 ? std::numeric_limits<double>::quiet_NaN() : a / b; }
inline double min_of(double a, double b) noexcept { return std::isless(b, a) ? b : a; }
inline double max_of(double a, double b) noexcept { return std::isgreater(b, a) ? b : a; }

/*
 * Looks for the point of a lattice of up to four dimensions at which something takes the least: the simplex of Nelder and
 * Mead (Computer Journal 7, 1965) on real numbers, each value that of the nearest point of the lattice, as in Active
 * Harmony (Chung and Hollingsworth, SC 2004). Where it has shrunk to a point, that point's neighbours are looked at: the
 * end is a point of which no neighbour takes less. A point is measured once; in all there are as many as was said at most.
 */
class simplex {
public:
    static constexpr std::size_t dimensions = 4;
    struct point {
        long long x[dimensions];
        bool operator==(const point &other) const noexcept { return std::memcmp(x, other.x, sizeof x) == 0; }
    };

    explicit simplex(std::size_t evaluations) : most_(evaluations) { known_.reserve(evaluations); }

    /* The lattice has points 0 to counts[i] - 1. */
    void begin(std::size_t n, const long long *counts, const long long *start) noexcept
    {
        n_ = n;
        known_.clear();
        best_ = next_ = start_ = {};
        for (std::size_t i = 0; i < n; i++) {
            counts_[i] = counts[i];
            start_.x[i] = start[i];
        }
        stopped_ = false;
        best_ = next_ = start_;
        done_ = search();
    }
    bool done() const noexcept { return done_; }
    bool stopped() const noexcept { return stopped_; } /* for want of evaluations */
    const point &next() const noexcept { return next_; }
    const point &best() const noexcept { return best_; }
    std::size_t evaluations() const noexcept { return known_.size(); }

    /* What was measured at next(). */
    void tell(double value) noexcept
    {
        if (done_)
            return;
        if (!(value < std::numeric_limits<double>::max()))
            value = std::numeric_limits<double>::max();
        if (known_.empty() || value < least_) {
            best_ = next_;
            least_ = value;
        }
        known_.push_back({next_, value});
        done_ = search();
    }

private:
    struct measured {
        point at;
        double value;
    };
    struct vertex {
        double x[dimensions];
        double value;
    };

    /* What is known of a point; else it is the next one. */
    bool value(const point &p, double &to) noexcept
    {
        for (const measured &m : known_)
            if (m.at == p) {
                to = m.value;
                if (to < so_far_value_) {
                    so_far_ = p;
                    so_far_value_ = to;
                }
                return true;
            }
        next_ = p;
        stopped_ = known_.size() >= most_;
        return false;
    }
    point nearest(const double *x) const noexcept
    {
        point p = {};
        for (std::size_t i = 0; i < n_; i++)
            p.x[i] = static_cast<long long>(x[i] + 0.5);
        return p;
    }
    bool value(vertex &v) noexcept
    {
        for (std::size_t i = 0; i < n_; i++) {
            const double last = static_cast<double>(counts_[i] - 1);
            v.x[i] = v.x[i] < 0 ? 0 : v.x[i] > last ? last : v.x[i];
        }
        return value(nearest(v.x), v.value);
    }

    /*
     * The whole search as far as values are known, from the beginning each time: it takes the same way. True when it has
     * come to its end, be it for want of evaluations.
     */
    bool search() noexcept
    {
        point center = so_far_ = start_;
        so_far_value_ = std::numeric_limits<double>::infinity();
        double there, part = 4; /* of the lattice: the first simplex */
        if (!value(center, there))
            return stopped_;
        for (;;) {
            if (!shrink(center, part))
                return stopped_;
            center = so_far_;
            point better;
            bool found = false;
            if (!neighbours(center, better, found))
                return stopped_;
            if (!found)
                return true;
            center = better;
            part = 0;
        }
    }
    /* A simplex around a point, until it is one of the lattice. False: a value is not known. */
    bool shrink(const point &center, double part) noexcept
    {
        vertex v[dimensions + 1];
        for (std::size_t k = 0; k <= n_; k++)
            for (std::size_t i = 0; i < n_; i++) {
                const double last = static_cast<double>(counts_[i] - 1), x = static_cast<double>(center.x[i]);
                double edge = part > 0 ? last / part : 2;
                edge = edge < 1 ? 1 : edge;
                v[k].x[i] = k != i + 1 ? x : x + edge <= last ? x + edge : x - edge;
            }
        for (std::size_t k = 0; k <= n_; k++)
            if (!value(v[k]))
                return false;
        for (int step = 0; step < 100 && !one_point(v); step++) {
            for (std::size_t k = 1; k <= n_; k++) { /* the least first */
                const vertex one = v[k];
                std::size_t at = k;
                for (; at > 0 && one.value < v[at - 1].value; at--)
                    v[at] = v[at - 1];
                v[at] = one;
            }
            vertex &worst = v[n_];
            double middle[dimensions] = {};
            for (std::size_t i = 0; i < n_; i++) {
                for (std::size_t k = 0; k < n_; k++)
                    middle[i] += v[k].x[i];
                middle[i] /= static_cast<double>(n_);
            }
            vertex reflected, other;
            if (!away(middle, worst, 1, reflected))
                return false;
            if (reflected.value < v[0].value) {
                if (!away(middle, worst, 2, other))
                    return false;
                worst = other.value < reflected.value ? other : reflected;
                continue;
            }
            if (reflected.value < v[n_ - 1].value) {
                worst = reflected;
                continue;
            }
            const bool outside = reflected.value < worst.value;
            if (!away(middle, worst, outside ? 0.5 : -0.5, other))
                return false;
            if (other.value < (outside ? reflected.value : worst.value)) {
                worst = other;
                continue;
            }
            for (std::size_t k = 1; k <= n_; k++) {
                for (std::size_t i = 0; i < n_; i++)
                    v[k].x[i] = v[0].x[i] + (v[k].x[i] - v[0].x[i]) / 2;
                if (!value(v[k]))
                    return false;
            }
        }
        return true;
    }
    bool away(const double *middle, const vertex &from, double times, vertex &to) noexcept
    {
        for (std::size_t i = 0; i < n_; i++)
            to.x[i] = middle[i] + times * (middle[i] - from.x[i]);
        return value(to);
    }
    bool one_point(const vertex *v) const noexcept
    {
        for (std::size_t k = 1; k <= n_; k++)
            if (!(nearest(v[k].x) == nearest(v[0].x)))
                return false;
        return true;
    }

    /* Those that differ by one in one or two dimensions. */
    bool neighbours(const point &of, point &better, bool &found) noexcept
    {
        double here = 0, there = 0;
        if (!value(of, here))
            return false;
        for (std::size_t i = 0; i < n_; i++)
            for (std::size_t j = i; j < n_; j++)
                for (int signs = 0; signs < (i == j ? 2 : 4); signs++) {
                    better = of;
                    better.x[i] += signs & 1 ? -1 : 1;
                    if (j != i)
                        better.x[j] += signs & 2 ? -1 : 1;
                    if (better.x[i] < 0 || better.x[i] >= counts_[i] || better.x[j] < 0 || better.x[j] >= counts_[j])
                        continue;
                    if (!value(better, there))
                        return false;
                    if ((found = there < here))
                        return true;
                }
        return true;
    }

    std::size_t most_, n_ = 0;
    long long counts_[dimensions] = {};
    point start_ = {}, next_ = {}, best_ = {}, so_far_ = {}; /* so_far_: in the search that is being repeated */
    double least_ = 0, so_far_value_ = 0;
    std::vector<measured> known_;
    bool done_ = true, stopped_ = false;
};

/* Whether metrics are known. */
template <class... Index> bool known(const double *metrics, Index... i) noexcept
{
    (void)metrics;
    return !(std::isnan(metrics[i]) || ... || false);
}

/* What a proxy has been told of a metric. */
enum class metric_of { parameter, time, calls, failures, imbalance, told, setting, serving };

struct metric {
    const char *name;
    metric_of kind;
    std::size_t of; /* the setting or implementation */
};

struct setting_to {
    std::size_t setting;
    long long value;
};

/* As marple proxygen has compiled them; all texts and tables outlive the manager. */
struct rule {
    const char *name, *declaration;
    std::uint32_t looks;       /* in a row */
    int ranks;                 /* on which it must hold: 0 most, 1 any, 2 all, of those that know */
    int select;                /* implementation; -1: none */
    bool migrate;              /* its state must move */
    const setting_to *set;
    std::size_t sets;
    const std::size_t *tune; /* settings */
    std::size_t tuned;
    std::uint32_t calls, evaluations; /* of a point, and points */
    const std::size_t *uses;          /* metrics */
    std::size_t used;
};

struct rules {
    const rule *list;
    std::size_t count;
    const metric *metrics;
    std::size_t metric_count;
    const char *const (*settings)[2]; /* name, and that in records */
    std::size_t setting_count;
    const signed char *parameters; /* by method and metric: which of the call's values it is; -1: none */
    /* Bit 0: its condition holds; 1: its end; 2 and 3: whether that is known. */
    unsigned (*state)(std::size_t rule, const double *metrics, std::size_t serving);
    std::uint32_t every, changes;
    bool timed;
};

class manager {
public:
    manager(const char *family, const rules &r, std::size_t implementations, const char *const *names)
        : rules_(r), names_(names), n_(implementations), latches_(r.count), metrics_(r.metric_count), sums_(r.metric_count), counts_(r.metric_count),
          told_(new std::atomic<double>[r.metric_count]), ranges_(implementations * r.setting_count), by_(r.setting_count), values_(shared + votes * r.count),
          calls_(implementations), spent_(implementations)
    {
        for (std::size_t i = 0; i < r.count; i++) {
            methods_.push_back(std::make_unique<method>("rules", r.list[i].name, family));
            tuners_.push_back(r.list[i].tuned ? std::make_unique<tuner>(r.list[i].evaluations, r.metric_count) : nullptr);
        }
        for (std::size_t i = 0; i < r.metric_count; i++)
            told_[i] = unknown();
        reset();
    }

    const rules &table() const noexcept { return rules_; }
    bool timed() const noexcept { return rules_.timed; }

    /* No call may be under way. */
    void reset() noexcept
    {
        for (latch &l : latches_)
            l = {};
        for (auto &t : tuners_)
            if (t)
                t->state = tuner::idle;
        for (std::size_t &b : by_)
            b = rules_.count;
        changed();
        anew();
        imbalance_ = unknown();
    }

    /* What the component says of its results, from now on. */
    void tell(const char *name, double value) noexcept
    {
        for (std::size_t i = 0; i < rules_.metric_count; i++)
            if (rules_.metrics[i].kind == metric_of::told && std::strcmp(rules_.metrics[i].name, name) == 0)
                told_[i].store(value, std::memory_order_relaxed);
    }

    /* Whether this call is one of those that are looked at. */
    bool due() noexcept
    {
        if (rules_.every == 1)
            return true;
        const std::uint32_t n = skipped_.load(std::memory_order_relaxed) + 1;
        skipped_.store(n < rules_.every ? n : 0, std::memory_order_relaxed);
        return n >= rules_.every;
    }

    /* A call begins that any implementation may serve: who does? Of two threads at once one looks. */
    std::size_t look(std::size_t method, const double *x, std::size_t serving) noexcept
    {
        if (busy_.test_and_set(std::memory_order_acquire))
            return serving;
        since_ += rules_.every;
        const signed char *which = rules_.parameters + method * rules_.metric_count;
        for (std::size_t i = 0; i < rules_.metric_count; i++)
            if (rules_.metrics[i].kind == metric_of::parameter) {
                metrics_[i] = which[i] < 0 ? unknown() : x[which[i]];
                if (rules_.setting_count) /* whose search is told when they are others */
                    add(i, metrics_[i]);
            }
        fill(serving);
        for (std::size_t r = 0; r < rules_.count; r++) {
            const unsigned state = rules_.state(r, metrics_.data(), serving);
            step(r, state & 4, state & 1, state & 2);
        }
        const std::size_t next = choose(serving);
        if (next != serving)
            moved(serving, next);
        busy_.clear(std::memory_order_release);
        return next;
    }

    /* A call begins, and who serves it does so until the next quiet point. */
    void note(std::size_t method, const double *x) noexcept
    {
        if (busy_.test_and_set(std::memory_order_acquire))
            return;
        since_ += rules_.every;
        const signed char *which = rules_.parameters + method * rules_.metric_count;
        for (std::size_t i = 0; i < rules_.metric_count; i++)
            if (rules_.metrics[i].kind == metric_of::parameter && which[i] >= 0)
                add(i, x[which[i]]);
        busy_.clear(std::memory_order_release);
    }

    /* A call has ended. */
    void took(std::size_t which, double ns, bool thrown) noexcept
    {
        if (busy_.test_and_set(std::memory_order_acquire))
            return;
        if (thrown) {
            failures_++;
        } else {
            calls_[which]++;
            spent_[which] += static_cast<long long>(ns < most_ns ? ns : most_ns);
            if (timed_calls_ < 16)
                timed_calls_++;
            mean_ += (ns - mean_) / timed_calls_;
        }
        busy_.clear(std::memory_order_release);
    }

    /*
     * A quiet point, if the choice is made there: who serves next. sum adds up over the ranks that agree. There is room
     * for the sums of a million ranks.
     */
    template <class Sum> std::size_t decide(std::size_t serving, Sum sum)
    {
        for (std::size_t i = 0; i < rules_.metric_count; i++)
            if (rules_.metrics[i].kind == metric_of::parameter)
                metrics_[i] = mean(i);
        fill(serving);
        long long *v = values_.data();
        long long all = 0;
        for (long long one : spent_)
            all += one;
        const std::uint64_t share = static_cast<std::uint64_t>(all >> 6 < INT32_MAX ? all >> 6 : INT32_MAX), square = share * share;
        v[0] = 1;
        v[1] = at_most(calls_[serving], 1LL << 42);
        v[2] = at_most(spent_[serving], 1LL << 42);
        v[3] = static_cast<long long>(share);
        v[4] = static_cast<long long>(square & UINT32_MAX);
        v[5] = static_cast<long long>(square >> 32);
        for (std::size_t r = 0; r < rules_.count; r++) {
            long long *vote = v + shared + votes * r;
            const unsigned state = rules_.state(r, metrics_.data(), serving);
            for (unsigned bit = 0; bit < 4; bit++)
                vote[bit] = state >> bit & 1;
            vote[drift] = tuners_[r] && drifts(*tuners_[r]);
        }
        sum(v, static_cast<int>(values_.size()));
        ranks_ = v[0];
        const double n = static_cast<double>(v[0]), sum1 = static_cast<double>(v[3]), sum2 = static_cast<double>(v[4]) + 4294967296.0 * static_cast<double>(v[5]);
        const double difference = n * sum2 - sum1 * sum1;
        imbalance_ = sum1 > 0 ? std::sqrt(difference > 0 ? difference : 0) / sum1 : unknown();
        for (std::size_t r = 0; r < rules_.count; r++) {
            const long long *vote = v + shared + votes * r;
            const int how = rules_.list[r].ranks; /* the end of any is that of all, and the other way round */
            step(r, vote[2] > 0, hold(how, vote[0], vote[2]), hold(how == 1 ? 2 : how == 2 ? 1 : 0, vote[1], vote[3]));
            if (vote[2] > 0)
                latches_[r].on_ranks = vote[0];
        }
        return choose(serving);
    }

    /* Another one serves now. */
    void moved(std::size_t from, std::size_t to) noexcept
    {
        changes_++;
        {
            invocation call(*methods_[chosen_]);
            tell(call, chosen_);
            call.parameter("from", from);
            call.parameter("to", to);
        }
        changed();
    }

    /*
     * What is set is set at quiet points: there may be no call. at(i) is an implementation's tunable, or NULL. Throws
     * std::logic_error once if there is no such setting, or none of such values.
     */
    template <class At> void settle(std::size_t serving, bool summed, At at)
    {
        if (rules_.setting_count == 0)
            return anew();
        if (!checked_)
            check(at);
        if (!summed) { /* decide has not been asked */
            values_[1] = calls_[serving];
            values_[2] = spent_[serving];
            for (std::size_t r = 0; r < rules_.count; r++)
                values_[shared + votes * r + drift] = tuners_[r] && drifts(*tuners_[r]);
            for (std::size_t i = 0; i < rules_.metric_count; i++)
                if (rules_.metrics[i].kind == metric_of::parameter)
                    metrics_[i] = mean(i);
            fill(serving);
        }
        bool searching = false;
        for (std::size_t s = 0; s < rules_.setting_count; s++) {
            std::size_t r = 0;
            while (r < rules_.count && !(latches_[r].on && wants(r, s)))
                r++;
            if (by_[s] == r)
                continue;
            if (by_[s] < rules_.count && tuners_[by_[s]])
                stop(by_[s], at);
            by_[s] = r;
            for (std::size_t k = 0; r < rules_.count && k < rules_.list[r].sets; k++)
                if (rules_.list[r].set[k].setting == s)
                    give(r, s, rules_.list[r].set[k].value, at);
        }
        for (std::size_t r = 0; r < rules_.count; r++)
            if (tuners_[r] && !searching && owns(r))
                searching = tune(r, serving, at);
        anew();
    }

private:
    static constexpr std::size_t shared = 6, votes = 5, drift = 4; /* values that are added up, before those of each rule */
    static constexpr double most_ns = 1e15;

    struct latch {
        std::uint32_t held = 0;
        bool on = false;
        long long on_ranks = 0;
    };
    struct range {
        bool has = false;
        setting of = {};
    };
    struct tuner {
        tuner(std::size_t evaluations, std::size_t metrics) : search(evaluations), inputs(metrics) {}
        enum { idle, searching, found, exhausted } state = idle;
        simplex search;
        std::size_t who = 0;
        long long calls = 0, spent = 0;
        std::vector<double> inputs;
        double least = 0;
        int far = 0, slow = 0; /* intervals in a row in which inputs, or times, are others */
    };

    static constexpr double unknown() noexcept { return std::numeric_limits<double>::quiet_NaN(); }
    static long long at_most(long long x, long long most) noexcept { return x < most ? x : most; }
    static bool hold(int how, long long yes, long long of) noexcept { return how == 0 ? 2 * yes > of : how == 1 ? yes > 0 : yes > 0 && yes == of; }

    void add(std::size_t metric, double x) noexcept
    {
        if (std::isfinite(x)) {
            sums_[metric] += x;
            counts_[metric]++;
        }
    }
    double mean(std::size_t metric) const noexcept { return counts_[metric] ? sums_[metric] / static_cast<double>(counts_[metric]) : unknown(); }

    /* All metrics but those of parameters. */
    void fill(std::size_t serving) noexcept
    {
        for (std::size_t i = 0; i < rules_.metric_count; i++) {
            const metric &m = rules_.metrics[i];
            switch (m.kind) {
            case metric_of::parameter:
                break;
            case metric_of::time:
                metrics_[i] = timed_calls_ ? mean_ / 1e9 : unknown();
                break;
            case metric_of::calls:
                metrics_[i] = static_cast<double>(since_);
                break;
            case metric_of::failures:
                metrics_[i] = static_cast<double>(failures_);
                break;
            case metric_of::imbalance:
                metrics_[i] = imbalance_;
                break;
            case metric_of::told:
                metrics_[i] = told_[i].load(std::memory_order_relaxed);
                break;
            case metric_of::setting:
                metrics_[i] = checked_ && ranges_[serving * rules_.setting_count + m.of].has ? given(serving, m.of) : unknown();
                break;
            case metric_of::serving:
                metrics_[i] = serving == m.of;
                break;
            }
        }
    }
    double given(std::size_t who, std::size_t s) const noexcept { return static_cast<double>(given_[who * rules_.setting_count + s]); }

    void step(std::size_t r, bool known, bool begins, bool ends) noexcept
    {
        latch &l = latches_[r];
        if (l.on) {
            l.on = !ends;
            l.held = 0;
        } else if (!known) {
        } else if (!begins) {
            l.held = 0;
        } else if (++l.held >= rules_.list[r].looks) {
            l.on = true;
            l.held = 0;
        }
    }

    std::size_t choose(std::size_t serving) noexcept
    {
        for (std::size_t r = 0; r < rules_.count; r++) {
            const int to = rules_.list[r].select;
            if (!latches_[r].on || to < 0)
                continue;
            chosen_ = r;
            return changes_ < rules_.changes ? static_cast<std::size_t>(to) : serving;
        }
        return serving;
    }

    bool wants(std::size_t r, std::size_t s) const noexcept
    {
        const rule &x = rules_.list[r];
        for (std::size_t k = 0; k < x.sets; k++)
            if (x.set[k].setting == s)
                return true;
        for (std::size_t k = 0; k < x.tuned; k++)
            if (x.tune[k] == s)
                return true;
        return false;
    }
    bool owns(std::size_t r) const noexcept
    {
        for (std::size_t k = 0; k < rules_.list[r].tuned; k++)
            if (by_[rules_.list[r].tune[k]] != r)
                return false;
        return true;
    }

    /*
     * Why: the metrics that the rule looks at, who wanted otherwise, and which change it is. Metrics are told as qualities: as
     * parameters they would be among those of calls, which may be whole numbers.
     */
    void tell(invocation &call, std::size_t r) noexcept
    {
        const rule &x = rules_.list[r];
        for (std::size_t i = 0; i < x.used; i++)
            call.quality(rules_.metrics[x.uses[i]].name, metrics_[x.uses[i]]);
        long long overruled = 0;
        for (std::size_t other = r + 1; other < rules_.count; other++)
            overruled += latches_[other].on && rules_.list[other].select >= 0 && x.select >= 0 && rules_.list[other].select != x.select;
        call.parameter("change", changes_);
        if (overruled)
            call.parameter("overruled", overruled);
        if (ranks_ > 1)
            call.parameter("ranks", latches_[r].on_ranks);
    }

    /* After a change, what was measured before it counts no more. */
    void changed() noexcept
    {
        since_ = failures_ = 0;
        mean_ = 0;
        timed_calls_ = 0;
    }
    /* Between one quiet point and the next. */
    void anew() noexcept
    {
        for (std::size_t i = 0; i < rules_.metric_count; i++) {
            sums_[i] = 0;
            counts_[i] = 0;
        }
        for (std::size_t i = 0; i < n_; i++)
            calls_[i] = spent_[i] = 0;
    }

    template <class At> void check(At at)
    {
        const std::size_t all = rules_.setting_count;
        given_.assign(n_ * all, 0);
        for (std::size_t i = 0; i < n_; i++)
            if (tunable *t = at(i))
                for (const setting &one : t->settings())
                    for (std::size_t s = 0; s < all; s++)
                        if (std::strcmp(one.name, rules_.settings[s][0]) == 0) {
                            if (one.step < 1 || one.least > one.most)
                                throw std::logic_error(std::string("setting ") + one.name + " of " + names_[i] + ": expected least <= most and a step of at least 1");
                            ranges_[i * all + s] = {true, one};
                            ranges_[i * all + s].of.name = rules_.settings[s][0];
                            given_[i * all + s] = t->get(one.name);
                        }
        for (std::size_t r = 0; r < rules_.count; r++) {
            const rule &x = rules_.list[r];
            for (std::size_t k = 0; k < x.sets; k++) {
                bool any = false;
                for (std::size_t i = 0; i < n_; i++) {
                    const range &there = ranges_[i * all + x.set[k].setting];
                    any = any || there.has;
                    if (there.has && (x.set[k].value < there.of.least || x.set[k].value > there.of.most || (x.set[k].value - there.of.least) % there.of.step != 0))
                        throw std::logic_error(std::string("rule ") + x.name + " sets " + there.of.name + " to " + std::to_string(x.set[k].value) + ", and " + names_[i] +
                                               " has " + std::to_string(there.of.least) + " to " + std::to_string(there.of.most) + " in steps of " + std::to_string(there.of.step));
                }
                if (!any)
                    throw std::logic_error(std::string("rule ") + x.name + " sets " + rules_.settings[x.set[k].setting][0] + ", which no implementation has");
            }
            bool any = x.tuned == 0;
            for (std::size_t i = 0; i < n_; i++)
                any = any || tunes(r, i);
            if (!any)
                throw std::logic_error(std::string("rule ") + x.name + " tunes " + rules_.settings[x.tune[0]][0] + (x.tuned > 1 ? " and others" : "") + ", which no implementation has");
        }
        checked_ = true;
    }

    bool tunes(std::size_t r, std::size_t who) const noexcept
    {
        for (std::size_t k = 0; k < rules_.list[r].tuned; k++)
            if (!ranges_[who * rules_.setting_count + rules_.list[r].tune[k]].has)
                return false;
        return true;
    }

    template <class At> bool put(std::size_t who, std::size_t s, long long value, At at)
    {
        long long &is = given_[who * rules_.setting_count + s];
        if (is == value)
            return false;
        at(who)->set(rules_.settings[s][0], value);
        is = value;
        return true;
    }

    /* A rule gives a setting a value, of all that have it. */
    template <class At> void give(std::size_t r, std::size_t s, long long value, At at)
    {
        if (changes_ >= rules_.changes)
            return;
        bool any = false;
        for (std::size_t i = 0; i < n_; i++)
            if (ranges_[i * rules_.setting_count + s].has)
                any = put(i, s, value, at) || any;
        if (!any)
            return;
        changes_++;
        {
            invocation call(*methods_[r]);
            tell(call, r);
            call.parameter(rules_.settings[s][1], value);
        }
        changed();
    }

    /* Whether what an interval's calls were given is more than twice or less than half of what it was at first, thrice in a row. */
    bool drifts(tuner &t) noexcept
    {
        if (t.state == tuner::idle)
            return false;
        bool far = false;
        for (std::size_t i = 0; i < rules_.metric_count; i++) {
            if (rules_.metrics[i].kind != metric_of::parameter || !counts_[i] || std::isnan(t.inputs[i]))
                continue;
            const double x = std::fabs(mean(i)), first = std::fabs(t.inputs[i]);
            far = far || (max_of(x, first) >= 1 && (x > 2 * first || 2 * x < first || (mean(i) < 0) != (t.inputs[i] < 0)));
        }
        t.far = far ? t.far + 1 : 0;
        return t.far >= 3;
    }

    template <class At> void place(std::size_t r, const simplex::point &p, At at)
    {
        const rule &x = rules_.list[r];
        bool any = false;
        for (std::size_t k = 0; k < x.tuned; k++) {
            const setting &of = ranges_[tuners_[r]->who * rules_.setting_count + x.tune[k]].of;
            any = put(tuners_[r]->who, x.tune[k], of.least + p.x[k] * of.step, at) || any;
        }
        changes_ += any;
    }

    /* A firing of a rule that tunes: state 0 begins, 1 a point was measured, 2 found, 3 no more points, 4 inputs are others, 5 times are. */
    void tell_tuning(std::size_t r, int state, double ns) noexcept
    {
        const rule &x = rules_.list[r];
        const tuner &t = *tuners_[r];
        invocation call(*methods_[r]);
        tell(call, r);
        call.parameter("tuning", state);
        call.parameter("evaluations", t.search.evaluations());
        if (ns > 0)
            call.parameter("measured", ns / 1e9);
        for (std::size_t k = 0; k < x.tuned; k++)
            call.parameter(rules_.settings[x.tune[k]][1], given_[t.who * rules_.setting_count + x.tune[k]]);
    }

    template <class At> void begin(std::size_t r, std::size_t serving, int why, At at)
    {
        const rule &x = rules_.list[r];
        tuner &t = *tuners_[r];
        long long counts[simplex::dimensions] = {}, start[simplex::dimensions] = {};
        t.who = serving;
        for (std::size_t k = 0; k < x.tuned; k++) {
            const setting &of = ranges_[serving * rules_.setting_count + x.tune[k]].of;
            counts[k] = (of.most - of.least) / of.step + 1;
            start[k] = (given_[serving * rules_.setting_count + x.tune[k]] - of.least) / of.step;
            start[k] = start[k] < 0 ? 0 : start[k] >= counts[k] ? counts[k] - 1 : start[k];
        }
        for (std::size_t i = 0; i < rules_.metric_count; i++)
            t.inputs[i] = rules_.metrics[i].kind == metric_of::parameter ? mean(i) : unknown();
        t.calls = t.spent = 0;
        t.far = t.slow = 0;
        t.state = tuner::searching;
        t.search.begin(x.tuned, counts, start);
        place(r, t.search.next(), at);
        tell_tuning(r, why, 0);
        changed();
    }

    /* A rule goes off: what was best stays. */
    template <class At> void stop(std::size_t r, At at)
    {
        tuner &t = *tuners_[r];
        if (t.state == tuner::searching && t.search.evaluations() > 0)
            place(r, t.search.best(), at);
        t.state = tuner::idle;
    }

    /* True while it searches: others wait. */
    template <class At> bool tune(std::size_t r, std::size_t serving, At at)
    {
        tuner &t = *tuners_[r];
        if (!tunes(r, serving) || (changes_ >= rules_.changes && t.state != tuner::searching)) {
            stop(r, at);
            return false;
        }
        if (t.state == tuner::idle || t.who != serving) {
            stop(r, at);
            begin(r, serving, 0, at);
            return true;
        }
        const long long calls = values_[1], spent = values_[2];
        if (2 * values_[shared + votes * r + drift] > ranks_) {
            stop(r, at);
            begin(r, serving, 4, at);
            return true;
        }
        if (calls <= 0)
            return t.state == tuner::searching;
        t.calls += calls;
        t.spent += spent;
        if (t.calls < static_cast<long long>(rules_.list[r].calls))
            return t.state == tuner::searching;
        const double ns = static_cast<double>(t.spent) / static_cast<double>(t.calls);
        t.calls = t.spent = 0;
        if (t.state != tuner::searching) {
            t.slow = ns > 1.25 * t.least || ns < 0.8 * t.least ? t.slow + 1 : 0;
            if (t.slow < 8)
                return false;
            begin(r, serving, 5, at);
            return true;
        }
        t.search.tell(ns);
        tell_tuning(r, 1, ns);
        t.least = t.search.evaluations() == 1 || ns < t.least ? ns : t.least;
        const bool end = t.search.done() || changes_ >= rules_.changes;
        place(r, end ? t.search.best() : t.search.next(), at);
        changed();
        if (end) {
            t.state = t.search.done() && !t.search.stopped() ? tuner::found : tuner::exhausted;
            tell_tuning(r, t.state == tuner::found ? 2 : 3, t.least);
        }
        return !end;
    }

    const rules &rules_;
    const char *const *names_;
    const std::size_t n_;
    std::atomic_flag busy_ = ATOMIC_FLAG_INIT;
    std::atomic<std::uint32_t> skipped_{0};
    std::vector<latch> latches_;
    std::vector<std::unique_ptr<method>> methods_;
    std::vector<std::unique_ptr<tuner>> tuners_; /* by rule */
    std::vector<double> metrics_, sums_;         /* sums: since the last quiet point */
    std::vector<long long> counts_;
    const std::unique_ptr<std::atomic<double>[]> told_;
    std::vector<range> ranges_;      /* by implementation and setting */
    std::vector<long long> given_;   /* likewise: their values */
    std::vector<std::size_t> by_;    /* by setting: the rule that has given it its value */
    std::vector<long long> values_;
    std::vector<long long> calls_, spent_; /* by implementation, since the last quiet point */
    std::size_t chosen_ = 0;         /* the rule that has chosen who serves */
    std::uint32_t changes_ = 0;
    std::uint64_t since_ = 0, failures_ = 0;
    double mean_ = 0, imbalance_ = unknown();
    int timed_calls_ = 0;
    long long ranks_ = 1;
    bool checked_ = false;
};

}

#endif
